"""Access: who calls (authentication) and what they may do (policy)."""
