"""Fetching from leaders into the fetch buffer."""
