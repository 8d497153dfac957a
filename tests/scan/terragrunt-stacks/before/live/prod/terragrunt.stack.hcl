locals {
  pins = read_terragrunt_config("${get_repo_root()}/live/pins.hcl")
}

unit "mesh" {
  source = "${get_repo_root()}/units/mesh"
  path   = "mesh"
  values = { version = local.pins.locals.version }
}

unit "lab" {
  source = "../../units/mesh"
  path   = "lab"
  values = {
    version = "2026.7.1" # uplinker: hold
  }
}
