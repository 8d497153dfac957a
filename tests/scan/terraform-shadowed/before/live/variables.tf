variable "mesh_version" {
  default = "2026.8.1"
}
