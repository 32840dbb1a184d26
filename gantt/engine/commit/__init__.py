"""Commit: pending writes, and the one place that changes anything."""
