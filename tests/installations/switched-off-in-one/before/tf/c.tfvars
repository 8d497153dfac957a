crds = "2026.7.1"
mesh = true
plane = false
viz = true
