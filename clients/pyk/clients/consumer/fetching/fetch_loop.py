"""Keep every assigned partition fetched: resolve its position, fetch, detect if it is stalled."""

from __future__ import annotations

import asyncio

from pyk.clients.consumer.fetching.fetcher import Fetcher
from pyk.clients.consumer.positions.assigned_partitions import AssignedPartitions
from pyk.clients.consumer.positions.metadata_changes import MetadataChanges
from pyk.clients.consumer.positions.position_resolver import PositionResolver
from pyk.clients.engine.client import Client

# How often to look for stalled partitions if nothing happens.
LOOK_SECONDS = 1.0


class FetchLoop:
    """One task that looks at all partitions whenever something has changed.

    It never waits for a response: responses lead to the next requests by themselves.
    """

    def __init__(
        self,
        client: Client,
        partitions: AssignedPartitions,
        metadata_changes: MetadataChanges,
        resolver: PositionResolver,
        fetcher: Fetcher,
    ) -> None:
        self._client = client
        self._partitions = partitions
        self._metadata_changes = metadata_changes
        self._resolver = resolver
        self._fetcher = fetcher
        self._wake = asyncio.Event()
        resolver.on_answer = self._wake.set
        client.metadata_keeper.add_listener(lambda image: self._wake.set())

    def look(self) -> None:
        """Look soon at what there is to resolve or fetch: something has changed."""
        self._wake.set()
        self._resolver.tell_waiters()

    def fetch(self) -> None:
        """Fetch at once what can be fetched: the application has read, and there is room."""
        self._fetcher.look()

    async def run(self) -> None:
        while True:
            # First, because a new leader epoch may lead to a question.
            self._metadata_changes.apply(self._client.metadata)
            self._resolver.ask()
            self._fetcher.look()
            self._fetcher.watch()
            await self._wait()

    async def _wait(self) -> None:
        now = self._client.clock.now()
        until = min(now + LOOK_SECONDS, self._partitions.next_retry(now) or now + LOOK_SECONDS)
        timer = asyncio.get_running_loop().call_at(until, self._wake.set)
        try:
            await self._wake.wait()
        finally:
            timer.cancel()
        self._wake.clear()
