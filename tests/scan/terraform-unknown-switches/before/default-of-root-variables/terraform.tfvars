region = "east"
