variable "mesh_version" {
  default = "2026.8.1"
}

resource "kubernetes_secret_v1" "production" {
  metadata {
    name      = "production"
    namespace = "argocd"
    labels = {
      "argocd.argoproj.io/secret-type" = "cluster"
      enable_mesh                      = true
    }
    annotations = {
      mesh_version = "2026.7.2"
      viz_version  = "2026.7.3"
    }
  }
  data = {
    name   = "production"
    server = "https://production.example.com"
  }
}

resource "kubernetes_secret" "staging" {
  metadata {
    name      = "staging"
    namespace = "argocd"
    labels = {
      "argocd.argoproj.io/secret-type" = "cluster"
      enable_mesh                      = "true"
    }
    annotations = {
      mesh_version = var.mesh_version
      viz_version  = "2026.8.2"
    }
  }
  data = {
    name   = "staging"
    server = "https://staging.example.com"
  }
}

resource "kubernetes_manifest" "lab" {
  manifest = {
    apiVersion = "v1"
    kind       = "Secret"
    metadata = {
      name        = "lab"
      namespace   = "argocd"
      labels      = { "argocd.argoproj.io/secret-type" = "cluster", enable_mesh = "true" }
      annotations = { mesh_version = "2026.8.3", viz_version = "2026.8.3" }
    }
    stringData = { name = "lab", server = "https://lab.example.com" }
  }
}

resource "kubernetes_secret" "retired" {
  metadata {
    name        = "retired"
    namespace   = "argocd"
    labels      = { "argocd.argoproj.io/secret-type" = "cluster", enable_mesh = "false" }
    annotations = { mesh_version = "2026.6.3", viz_version = "2026.6.3" }
  }
}
