"""Stands in for pyusb where labgrid's relay driver runs: what is sent goes to the bench."""
