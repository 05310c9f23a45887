"""A file for each tool, or each of its formats, whose output is read."""
