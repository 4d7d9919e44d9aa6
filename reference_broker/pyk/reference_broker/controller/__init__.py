"""The controller: what topics, partitions, configurations and brokers there are.

Event-sourced over ``__cluster_metadata-0`` in Kafka's own record formats.
"""
