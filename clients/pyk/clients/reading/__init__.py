"""Read a bounded range of a topic as Arrow tables."""

from pyk.clients.reading.tables import AsyncTopicTables, TopicTables, aread, read

__all__ = ["AsyncTopicTables", "TopicTables", "aread", "read"]
