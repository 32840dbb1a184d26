"""Advice on the order of hosts that a caller sends."""
