"""Runs on a host: detects its resources and reports them to the books."""
