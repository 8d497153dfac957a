locals { mesh = "2026.8.1" }
