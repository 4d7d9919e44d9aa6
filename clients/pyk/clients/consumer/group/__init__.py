"""Group membership: which partitions a consumer reads, whatever the protocol of its group."""
