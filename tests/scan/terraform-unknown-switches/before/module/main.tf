variable "l" {}
module "mesh" {
  source  = "./mesh"
  enabled = try(var.l.enabled, false)
}
