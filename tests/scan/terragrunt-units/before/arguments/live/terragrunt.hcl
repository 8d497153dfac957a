terraform {
  source = "../modules/cp"
  extra_arguments "v" {
    commands  = ["plan", "apply"]
    arguments = ["-var", "linkerd_version=2026.8.2"]
  }
}
