"""whylate: how late a Linux board is, and why."""

__version__ = "0.1.0"
