"""Measurements against goals: whole processes, over HTTP, on the machine at hand."""
