variable "domain" { type = string }
variable "records" {
  type    = list(object({ name = string, zone_id = string }))
  default = []
}
resource "terraform_data" "zone" {
  input = var.domain
}
resource "terraform_data" "record" {
  for_each = { for e in var.records : e.name => e }
  input    = each.value.zone_id
}
output "zone_id" { value = terraform_data.zone.id }
