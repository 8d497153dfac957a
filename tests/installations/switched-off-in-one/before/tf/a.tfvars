crds = "2026.8.2"
mesh = true
plane = true
viz = true
