"""The hinge: what a run leaves. Whatever measures writes it, whatever judges reads it."""
