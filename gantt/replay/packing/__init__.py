"""Policies that fill a fleet, compared on a trace: ours, and plain ones of books."""
