"""Explanations: why no host was found, what would help, how many more fit."""
