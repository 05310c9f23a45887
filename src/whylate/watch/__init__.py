"""Boards watched from beside: only files and locks are read that the processes using them write."""
