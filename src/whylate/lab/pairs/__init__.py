"""Pairs of root file systems, made of Debian's packages by recipes in lab/pairs."""
