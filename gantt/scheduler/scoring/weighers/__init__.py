"""One weigher per file: how good each host is, as one score per host."""
