"""Who is up, by the group that agents are members of, in a service for coordination."""
