variable "extensions" {
  type = map(object({
    product = optional(string, "linkerd")
    enabled = optional(bool, true)
    version = optional(string, "2026.8.2")
  }))
  default = {
    linkerd-viz = { enabled = false }


    # Has no nodes yet.
    linkerd-multicluster = { version = "2026.8.1", enabled = false }


    # Goes by its own numbers.
    istio-base = { version = "1.22.0", product = "istio", enabled = false }
  }
}
