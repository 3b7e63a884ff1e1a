"""Readers of the public benchmarks: from their own files to :class:`~repoformer.code.records.Blank` records.

None of their data comes with this package. ``benchmark.py`` says what a benchmark is and holds the registry; every
other reader is a module of its own that registers itself.
"""
