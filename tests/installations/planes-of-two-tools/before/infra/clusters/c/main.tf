module "mesh" {
  source = "../../modules/mesh"
  chart  = "2026.6.3" # uplinker: hold
}
