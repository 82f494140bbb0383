"""The console: where staff run their pools. They sign in; everything essential works without scripts."""
