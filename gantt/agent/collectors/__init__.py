"""Each module reads one aspect of the machine that it runs on."""
