"""Tables beside the books, for leader tasks and records."""
