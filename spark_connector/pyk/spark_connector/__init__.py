"""Spark data source and sink over pyk: ``format("pyk")``."""
