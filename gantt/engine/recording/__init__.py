"""Records of decisions with all that they saw, to be decided again elsewhere."""
