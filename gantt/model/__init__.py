"""Frozen values that every floor of Gantt speaks in: no behaviour, no imports upward."""
