"""How the tail continues beyond what was observed."""
