"""One filter per module: a mask of the hosts that may take an instance."""
