"""One recording's figures and its trust."""
