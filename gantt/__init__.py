"""Gantt decides where things run: the books of a fleet, and who gets what of it."""

__version__ = "0.1.0"
