"""What other tools wrote of their runs, and what their files lack."""
