locals {
  env = read_terragrunt_config(find_in_parent_folders("env.hcl"))
}
terraform {
  source = "../../..//modules/mesh"
}
inputs = {
  chart_version = local.env.locals.mesh
}
