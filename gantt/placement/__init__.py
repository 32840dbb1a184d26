"""The Placement domain: pure functions of State; no I/O, no clock, no randomness."""
