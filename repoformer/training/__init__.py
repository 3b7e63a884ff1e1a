"""Examples, losses, loop, checkpoints."""
