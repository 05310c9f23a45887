"""How a side is read: a board, a recording, a directory, a tarball, or an ext4 image."""
