module "cluster" {
  source      = "../modules/cluster"
  environment = "staging"
}
