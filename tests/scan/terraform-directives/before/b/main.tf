module "l" {
  source = "./mod"
  ha = true
}
