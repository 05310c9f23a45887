"""Traces of other tools (ftrace, trace-cmd, perf script) in the form of our own windows."""
