"""The wire: bodies and queries in, answers and problems out; all microversions."""
