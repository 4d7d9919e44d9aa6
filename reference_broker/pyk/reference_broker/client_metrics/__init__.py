"""Metrics that clients push (KIP-714): which are asked for, from whom, and what came last."""
