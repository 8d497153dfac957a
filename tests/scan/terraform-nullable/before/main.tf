provider "helm" {}
variable "crds" {
  type    = string
  default = null
}
variable "control_plane" {
  type    = string
  default = "2026.8.0"
}
module "linkerd" {
  source        = "./modules/linkerd"
  crds          = var.crds
  control_plane = var.control_plane
  viz           = null
}
