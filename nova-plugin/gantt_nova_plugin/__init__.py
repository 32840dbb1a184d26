"""Lets Gantt advise the schedulers of Nova, Cinder and Manila.

`nova`, `cinder` and `manila` hold the classes that each service loads, and import it;
all other modules need the standard library alone.
"""

__version__ = "0.1.0"
