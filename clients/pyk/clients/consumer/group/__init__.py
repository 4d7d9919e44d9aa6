"""Group membership: who reads which partition, and what was finished."""
