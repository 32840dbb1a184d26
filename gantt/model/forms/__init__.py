"""Parses every form of Nova's objects into the values of ``gantt.model``."""
