locals { rev = "2026.8.2" }
resource "argocd_application_set" "mesh" {
  metadata { name = "mesh" }
  spec {
    go_template = true
    generator {
      list { elements = [{ name = "a", version = "2026.8.2" }] }
    }
    template {
      metadata { name = "mesh-{{ .name }}" }
      spec {
        source {
          repo_url = "https://helm.linkerd.io/edge"
          chart = "linkerd-crds"
          target_revision = "{{ .version }}"
        }
        source {
          repo_url = "https://helm.linkerd.io/edge"
          chart = "linkerd-control-plane"
          target_revision = local.rev
          helm {
            value_files = ["x.yaml"]
            parameter {
              name = "linkerdVersion"
              value = "edge-26.8.2"
            }
          }
        }
        destination { server = "https://kubernetes.default.svc" }
      }
    }
  }
}
