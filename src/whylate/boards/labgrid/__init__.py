"""Boards on a labgrid bench: power, console, SD mux and places, through labgrid's own drivers."""
