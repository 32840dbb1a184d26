"""Frozen values used by all packages; they import nothing above."""
