include "root" {
  path = find_in_parent_folders("root.hcl")
}
include "env" {
  path   = find_in_parent_folders("env.hcl")
  expose = true
}
terraform {
  source = "${get_repo_root()}//modules/mesh"
}
inputs = {
  chart_version = include.env.locals.mesh
}
