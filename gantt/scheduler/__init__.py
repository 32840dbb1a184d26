"""From "n instances like this" to hosts and claims: pure functions of State."""
