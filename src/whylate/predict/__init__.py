"""What a change would bring, before it is tried."""
