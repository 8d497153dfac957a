module "cluster" {
  source      = "../modules/cluster"
  environment = "prod"
}
