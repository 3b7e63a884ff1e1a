"""Let a code model decide for itself when to look around the repository before it completes."""
