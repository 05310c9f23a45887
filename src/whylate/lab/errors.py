"""What can be wrong with the lab."""


class LabError(Exception):
    """A virtual board that cannot be made or described: one line that says what to do."""
