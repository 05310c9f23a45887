"""Plan of power cycles: boot, measure, switch off, again, until a count or a time is reached."""
