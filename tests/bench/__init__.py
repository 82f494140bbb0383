"""What the benchmark measures, as ratios that a change must not spoil."""
