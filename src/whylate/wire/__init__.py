"""What crosses between host and probe, and what a journal holds: bytes to messages and back."""
