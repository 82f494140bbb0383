"""Web pages for the people waiting: they need no account, and everything essential works without scripts."""
