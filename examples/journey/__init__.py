"""One record's whole journey: producer, broker on disk, consumer group, Spark, topic."""
