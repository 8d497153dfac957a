control_plane = null
