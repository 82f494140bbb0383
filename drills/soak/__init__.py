"""A long run: an hour of mixed work, and what grows while it lasts."""
