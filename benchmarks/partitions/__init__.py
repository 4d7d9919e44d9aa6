"""What a broker with very many partitions costs."""
