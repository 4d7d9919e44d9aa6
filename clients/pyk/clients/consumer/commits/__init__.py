"""Committed offsets: which are to be stored, when, and how they are stored and read."""
