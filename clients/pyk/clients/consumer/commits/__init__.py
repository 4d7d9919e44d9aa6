"""Decide which offsets to commit and when; commit and read them."""
