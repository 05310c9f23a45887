"""Root file systems of the user's that virtual boards boot."""
