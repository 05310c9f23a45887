"""Why an activation was late: windows to pieces, pieces to episodes, episodes to shares."""
