variable "p" {}
resource "kubectl_manifest" "apps" {
  yaml_body = templatefile("${path.module}/deploy.yaml.tftpl", { p = var.p, n = "x" })
}
