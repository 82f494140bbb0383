"""The embedded default: one file, nothing to install."""
