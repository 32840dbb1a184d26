"""Drivers: where masks and scores come from."""
