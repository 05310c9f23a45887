"""Boards on a page, for a browser on this machine."""
