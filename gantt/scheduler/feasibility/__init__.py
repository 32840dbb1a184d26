"""Feasibility: which hosts can take an instance."""
