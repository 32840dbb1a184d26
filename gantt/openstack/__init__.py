"""Doors into an OpenStack cloud beyond HTTP: its message bus and its databases."""
