variable "linkerd_version" {
  type    = string
  default = "2026.8.2"
}
