module "mesh" {
  source = "../../modules/mesh"
  chart  = "2026.7.2"
}
