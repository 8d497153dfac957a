locals {
  version = "2026.8.2"
}
