"""Plug-ins: names in the options to classes, Nova's and others', guarded."""
