"""Plan of power cycles: boot, run a workload, switch off, again, until a goal is reached."""
