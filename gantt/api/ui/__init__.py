"""The dashboard: static files, and what they need to sign in."""
