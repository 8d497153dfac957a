resource "helm_release" "control_plane" {
  lifecycle {
    ignore_changes = ["*"]
  }
}
