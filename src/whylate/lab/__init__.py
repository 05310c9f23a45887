"""Virtual boards: their descriptions, and the images that they boot."""
