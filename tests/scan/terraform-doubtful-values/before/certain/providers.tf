provider "helm" {}
