"""Benchmarks of clients, each case in a process of its own.

``python -m benchmarks.clients.produce CASE`` and ``… consume CASE`` print one JSON line: see
:class:`benchmarks.clients.meter.Meter`.
"""
