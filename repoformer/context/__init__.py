"""How cross-file context is collected for a blank."""
