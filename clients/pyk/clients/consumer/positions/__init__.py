"""The positions of assigned partitions, and how they are resolved."""
