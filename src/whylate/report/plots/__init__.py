"""Plots of the pages: arrays in, places and ticks out."""
