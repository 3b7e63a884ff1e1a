"""Base models, their tokenizers and settings."""
