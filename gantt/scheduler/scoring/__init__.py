"""Scoring: how good each feasible host is."""
