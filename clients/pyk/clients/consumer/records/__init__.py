"""What the application gets: records, their batches, their columns, and why one cannot be read."""
