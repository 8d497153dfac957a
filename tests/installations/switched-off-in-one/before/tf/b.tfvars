crds = "2026.8.1"
mesh = true
plane = true
viz = false
