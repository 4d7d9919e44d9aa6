"""Benchmarks of single requests: latency and CPU of each client, in turns on one broker."""
