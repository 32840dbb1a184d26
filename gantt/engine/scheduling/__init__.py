"""Scheduling: the cycle on the State, claims, and records of decisions."""
