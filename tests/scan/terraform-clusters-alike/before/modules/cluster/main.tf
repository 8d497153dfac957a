variable "environment" {}

resource "kubernetes_secret_v1" "in_cluster" {
  metadata {
    name      = "in-cluster"
    namespace = "argocd"
    labels = {
      "argocd.argoproj.io/secret-type" = "cluster"
      environment                      = var.environment
    }
  }
  data = {
    name   = "in-cluster"
    server = "https://kubernetes.default.svc"
  }
}
