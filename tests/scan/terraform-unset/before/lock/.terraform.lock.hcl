provider "registry.terraform.io/hashicorp/helm" {
  version = "2.12.1"
}
