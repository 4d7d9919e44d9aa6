"""What the reference broker costs, beside Apache Kafka."""
