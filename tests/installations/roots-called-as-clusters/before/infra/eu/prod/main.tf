module "mesh" {
  source = "../../modules/mesh"
  chart  = "2026.8.1"
}
