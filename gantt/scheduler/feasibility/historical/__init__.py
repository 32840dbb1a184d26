"""Filters that Nova has removed, one module each, still valid in ``enabled_filters``.

Separate from ``filters`` because a deployment that starts today needs none of them: the
books and the pre-filters decide amounts, zones and retries.
"""
