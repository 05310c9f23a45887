"""`whylate report`, and printing recordings for the verbs that make them."""
