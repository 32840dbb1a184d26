"""All that is known, as NumPy columns in this process; knows nothing of SQL or HTTP."""
