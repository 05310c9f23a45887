"""The machines under test: how to reach them and what to read of them."""
