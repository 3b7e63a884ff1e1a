"""One-pass selective completion over a cached forward pass, and decision policies."""
