"""Benchmarks of the reference broker beside Apache Kafka."""
