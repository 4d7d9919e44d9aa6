"""What one request costs: latency and CPU of each client, all of them in turns on one broker."""
