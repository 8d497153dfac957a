include "common" {
  path           = find_in_parent_folders("common.hcl")
  merge_strategy = "deep"
}
terraform { source = "../../modules/m" }
inputs = {
  extra = { b = "2026.8.1" }
}
