"""Access: authentication and policy."""
