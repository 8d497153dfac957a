variable "enabled" {
  default = false
}
module "mesh" {
  source  = "./mesh"
  enabled = var.enabled
}
