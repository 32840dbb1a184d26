"""The schema: whether a database fits this release, and making it so."""
