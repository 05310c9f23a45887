"""A board's serial console: drained always, a shell over it, the probe over it."""
