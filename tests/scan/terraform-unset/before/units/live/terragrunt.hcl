terraform {
  source = "..//mesh"
}
dependency "fleet" {
  config_path = "../fleet"
}
inputs = {
  mesh = dependency.fleet.outputs.mesh # for linkerd
}
