"""Kafka's wire protocol: messages, record batches, connections as state machines."""
