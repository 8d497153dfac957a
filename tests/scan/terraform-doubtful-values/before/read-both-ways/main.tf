variable "l" {}
resource "kubectl_manifest" "crds" {
  yaml_body = templatefile("${path.module}/crds.tftpl", { fast = try(var.l.fast, false) })
}
resource "kubectl_manifest" "each" {
  yaml_body = templatefile("${path.module}/each.tftpl", { all = { linkerd-viz = try(var.l.fast, false) } })
}
data "kubectl_path_documents" "more" {
  pattern = "${path.module}/more.yaml"
  vars    = { fast = try(var.l.fast, false) }
}
resource "kubectl_manifest" "more" {
  for_each  = toset(data.kubectl_path_documents.more.documents)
  yaml_body = each.value
}
resource "argocd_application" "plane" {
  metadata {
    name = "plane"
  }
  spec {
    dynamic "source" {
      for_each = { plane = try(var.l.fast, false) }
      content {
        repo_url        = "https://helm.linkerd.io/edge"
        chart           = "linkerd-control-plane"
        target_revision = source.value ? "2026.8.2" : "2026.8.1"
      }
    }
    destination {
      server = "https://kubernetes.default.svc"
    }
  }
}
