"""Places for several items at once, where one after the other found none."""
