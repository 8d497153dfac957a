module "dns" {
  source  = "./modules/d"
  domain  = "example.org"
  records = [
    { name = "n1", zone_id = module.dns.zone_id },
    { name = "n2", zone_id = module.dns.zone_id },
    { name = "n3", zone_id = module.dns.zone_id },
    { name = "n4", zone_id = module.dns.zone_id },
    { name = "n5", zone_id = module.dns.zone_id },
    { name = "n6", zone_id = module.dns.zone_id },
    { name = "n7", zone_id = module.dns.zone_id },
    { name = "n8", zone_id = module.dns.zone_id },
    { name = "n9", zone_id = module.dns.zone_id },
    { name = "n10", zone_id = module.dns.zone_id },
    { name = "n11", zone_id = module.dns.zone_id },
    { name = "n12", zone_id = module.dns.zone_id },
  ]
}
