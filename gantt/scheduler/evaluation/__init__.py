"""Candidates, filters and scores of one request, for every driver."""
