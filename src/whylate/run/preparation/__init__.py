"""Files and commands that a board gets for a run, and that leave it afterwards."""
