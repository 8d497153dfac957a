provider "registry.terraform.io/hashicorp/helm" {
  version = "2.17.0"
}
