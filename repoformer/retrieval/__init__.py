"""Finding similar code: scorers and indexes over chunks."""
