"""Frozen values that every floor of Gantt speaks in; they import nothing above."""
