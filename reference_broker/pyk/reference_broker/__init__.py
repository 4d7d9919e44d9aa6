"""A real Kafka broker in readable Python, for development, tests and learning."""
