locals { mesh = "2026.8.2" }
