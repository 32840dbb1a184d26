"""The front of ``gantt serve``: what a connection meets before the WSGI application."""
