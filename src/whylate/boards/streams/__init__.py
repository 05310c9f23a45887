"""Byte streams to a probe: child processes, sockets, growing files, serial lines."""
