"""Executions of a piece of code with counters: what took their cycles, lines, and peaks."""
