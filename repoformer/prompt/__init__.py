"""The only place where a prompt is put together: dialects, budgets, builder."""
