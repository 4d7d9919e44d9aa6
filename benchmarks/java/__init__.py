"""Benchmarks of pyk beside Apache Kafka's own Java client."""
