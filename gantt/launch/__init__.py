"""From selections to running instances, alternates and claims included."""
