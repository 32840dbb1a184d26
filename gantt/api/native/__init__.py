"""Gantt's own HTTP API, below /gantt: where things run. A module per noun."""
