"""From a capture of connections to the Kafka messages that went over them. Pure.

packet file → packets → TCP segments → two byte streams a connection → frames → messages
"""
