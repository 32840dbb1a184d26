"""Gantt's own HTTP API, below /gantt: hosts, instances and scheduling."""
