resource "helm_release" "all" {
  for_each   = { for row in csvdecode(file("${path.module}/charts.csv")) : row.name => row }
  name       = each.key
  repository = "https://helm.linkerd.io/edge"
  chart      = each.value.chart
  version    = each.value.version
}
