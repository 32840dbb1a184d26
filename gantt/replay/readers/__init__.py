"""Traces of others, read as fleets and arrivals; a module each."""
