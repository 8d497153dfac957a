terraform { source = "../../modules/helm" }
inputs = {
  releases = yamldecode(file("${get_terragrunt_dir()}/releases.yaml"))
}
