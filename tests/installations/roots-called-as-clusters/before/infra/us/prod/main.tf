module "mesh" {
  source = "../../modules/mesh"
  chart  = "2026.6.4" # uplinker: hold
}
