"""Decides beside Nova, and compares with what Nova then claimed."""
