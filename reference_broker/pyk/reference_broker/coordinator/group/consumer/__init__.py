"""Groups of type consumer, which the coordinator assigns (KIP-848)."""
