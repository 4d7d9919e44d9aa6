"""What a producer has accepted and not sent: batches by partition, within one budget of memory."""
