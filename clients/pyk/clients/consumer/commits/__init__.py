"""When offsets are committed, and how they are stored and read."""
