"""Which of the settings in which two variants differ makes the difference between them."""
