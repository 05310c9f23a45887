"""Experiments: the preventable share of a cause that is switched off."""
