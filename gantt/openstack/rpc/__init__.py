"""The drop-in for nova-scheduler: its RPC methods, served from a Gantt."""
