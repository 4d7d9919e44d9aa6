"""The call that lists topics."""

from __future__ import annotations

from pyk.clients.admin.calls import Calls
from pyk.clients.admin.topic_listings import TopicListing, topic_listings


class TopicListCalls:
    """Carries out the call that lists topics; :class:`AsyncAdmin` documents it."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def list_topics(
        self, *, internal: bool, timeout: float | None
    ) -> dict[str, TopicListing]:
        response = await self._calls.metadata(None, timeout)
        return topic_listings(response, internal=internal)
