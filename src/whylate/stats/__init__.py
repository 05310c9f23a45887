"""Pure functions on arrays: no files, no boards."""
