"""Requests: pre-filtered, and shaped into questions about amounts."""
