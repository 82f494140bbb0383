"""Trials: what puts the whole of Fairhold to the test, and takes longer than a run of its tests."""
