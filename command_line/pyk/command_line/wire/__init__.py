"""Decode a capture of connections into the Kafka messages on them. Pure.

packet file → packets → TCP segments → two byte streams a connection → frames → messages
"""
