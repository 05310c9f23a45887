"""How results are shown: terminal and HTML."""
