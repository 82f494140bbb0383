"""Two stores, one behaviour. Everything that is not in a dialect's own folder is shared by both."""
