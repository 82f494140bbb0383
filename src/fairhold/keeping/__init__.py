"""Keeping a database in order: what is handed out, brought in, forgotten about a person, and pruned."""
