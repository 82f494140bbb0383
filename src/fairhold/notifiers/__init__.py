"""Who tells: one folder for each notifier, with everything of it inside. For another, copy the neighbour."""
