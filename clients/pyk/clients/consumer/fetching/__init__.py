"""Fetching from leaders, and the buffer from which the application reads."""
