locals {
  versions = yamldecode(file(find_in_parent_folders("versions.yaml")))
}
terraform {
  source = "../../../modules/viz"
}
inputs = {
  viz_version = local.versions.viz
}
