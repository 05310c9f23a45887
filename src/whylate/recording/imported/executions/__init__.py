"""Tables of executions of a piece of code, each with its counters."""
