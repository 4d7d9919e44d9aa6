"""Streams groups: the coordinator assigns the tasks of a Kafka Streams application (KIP-1071)."""
