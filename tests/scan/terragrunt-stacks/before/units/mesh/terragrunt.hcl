terraform {
  source = "${get_repo_root()}/modules//mesh"
}
inputs = {
  linkerd_version = values.version
}
