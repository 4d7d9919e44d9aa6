"""What pyk costs beside Apache Kafka's own Java client."""
