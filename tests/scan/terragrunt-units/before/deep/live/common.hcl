inputs = {
  extra = {
    a = "2026.8.2"
    b = "2026.7.3"
  }
}
