"""Reading: the columns of this process, kept up to date with the log."""
