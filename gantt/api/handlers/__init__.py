"""Handlers of the Placement API: a module per noun."""
