"""Which differences of two root file systems make the difference between them."""
