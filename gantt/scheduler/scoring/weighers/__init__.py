"""One weigher per module: a score for each host."""
