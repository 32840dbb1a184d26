"""Background work: tasks that one process of a fleet does for all."""
