"""Shadow records over HTTP."""
