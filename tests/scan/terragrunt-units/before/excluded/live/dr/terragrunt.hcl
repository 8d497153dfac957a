terraform { source = "../../modules/cp" }
inputs = { linkerd_version = "2026.8.2" }
exclude {
  if      = true
  actions = ["all_except_output"]
}
