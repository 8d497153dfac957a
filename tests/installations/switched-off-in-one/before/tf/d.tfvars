mesh = false
plane = false
viz = false
