"""Hold the records that a producer accepted and has not sent: batches by partition, in one
budget."""
