"""Fits instances into NUMA cells and gives them devices: pure functions on values."""
