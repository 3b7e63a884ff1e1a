"""The one self-contained page: tables, plots, side-by-side instances."""
