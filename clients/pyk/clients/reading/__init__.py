"""Bounded reads: a range of a topic as Arrow tables."""
