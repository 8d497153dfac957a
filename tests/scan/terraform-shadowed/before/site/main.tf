module "mesh" {
  source  = "../modules/mesh"
  release = "2026.8.2"
}
