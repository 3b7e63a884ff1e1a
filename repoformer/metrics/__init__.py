"""Text metrics, decision metrics, intervals."""
