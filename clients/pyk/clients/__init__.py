"""Blocking and asyncio Kafka clients."""
