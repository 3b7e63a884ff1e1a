"""Evaluation of retrieval policies: generate, score, report."""
