"""Runs on a host: finds out what the host has, and tells the books."""
