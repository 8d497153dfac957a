data "helm_template" "crds" {
  name       = "linkerd-crds"
  repository = "https://helm.linkerd.io/edge"
  chart      = "linkerd-crds"
  version    = trimspace(file("${path.module}/VERSION"))
}
