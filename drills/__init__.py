"""Drills: what is run by hand, for as long as it takes, against the real service."""
