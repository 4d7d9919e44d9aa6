"""Membership by the protocol ``consumer`` (KIP-848): ConsumerGroupHeartbeat."""
