"""Let a client hear of a topic by another id, as from a broker that lags."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from pyk.runtime import slotted

OTHER_ID = UUID(int=0xBEEF)


def name_another_id(client: Any, count: int) -> None:
    """Let the next answers with metadata, so many, name all topics by another id."""
    keeper = client._core.client.metadata_keeper
    source, left = keeper._source, iter(range(count))
    plain = source._ask

    async def ask(node_id: int, **more: Any) -> Any:
        answer = await plain(node_id, **more)
        if next(left, None) is None:
            return answer
        topics = tuple(slotted.evolve(topic, topic_id=OTHER_ID) for topic in answer.topics)
        return slotted.evolve(answer, topics=topics)

    source._ask = ask
    keeper.request_update()
