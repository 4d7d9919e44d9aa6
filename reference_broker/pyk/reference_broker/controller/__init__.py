"""The controller, which decides on topics, partitions, configurations and brokers.

Event-sourced over ``__cluster_metadata-0`` in Kafka's own record formats.
"""
