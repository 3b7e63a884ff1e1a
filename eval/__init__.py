"""Evaluation of retrieval policies: retrieve, generate, score, report."""
