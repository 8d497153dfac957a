provider "helm" {}
module "mesh" {
  source = "../planned-in-parts"
  mesh   = "2026.8.1"
}
