chart = "2026.7.2"
proxy = "edge-26.7.2"
