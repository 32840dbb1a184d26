"""One filter per file: which hosts may take an instance, as one mask."""
