terraform {
  source = "../../modules/cp"
  extra_arguments "v" {
    commands = get_terraform_commands_that_need_vars()
    required_var_files = ["${get_terragrunt_dir()}/../../vars/eu.tfvars"]
  }
}
