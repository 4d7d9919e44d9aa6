"""The topics that a share consumer subscribes to."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from pyk.clients.consumer.buffer.read_buffer import EVENT
from pyk.clients.consumer.positions.subscriptions import named_topics
from pyk.clients.consumer.positions.topic_watch import TopicWatch
from pyk.clients.engine.client import Client
from pyk.clients.engine.metadata import MetadataImage
from pyk.clients.errors import KafkaError, StateError
from pyk.clients.share.share_buffer import ShareBuffer
from pyk.clients.share.share_group import ShareGroup

log = logging.getLogger(__name__)

SUBSCRIPTION = "subscription"


class ShareSubscription:
    """Topics by name, and what keeps them from being read; ``check`` raises if the consumer cannot
    be used."""

    def __init__(
        self,
        client: Client,
        buffer: ShareBuffer,
        group: ShareGroup,
        check: Callable[[], None],
    ) -> None:
        self.topics: frozenset[str] = frozenset()
        self._client = client
        self._buffer = buffer
        self._group = group
        self._check = check
        self._watch = TopicWatch()

    def check_reading(self) -> None:
        """Raise if the consumer cannot be used, or if no record could ever come."""
        self._check()
        if not self.topics:
            raise StateError("the share consumer has nothing to read: call subscribe() first")

    def subscribe(self, topics: Iterable[str]) -> None:
        """Read topics instead of others."""
        self._check()
        self.topics = named_topics(topics)
        self._watch = TopicWatch()
        self._client.topics.use(SUBSCRIPTION, self.topics)
        self._group.driver.subscribe(self.topics)

    def clear(self) -> None:
        """Read nothing."""
        self.topics = frozenset()
        self._watch = TopicWatch()
        self._client.topics.use(SUBSCRIPTION, ())

    def start(self, topics: Iterable[str] | None) -> None:
        """Begin with what was asked for so far, with ``topics`` if that is nothing."""
        self._client.metadata_keeper.add_listener(self._metadata_changed)
        if topics is not None and not self.topics:
            self.subscribe(topics)

    def _metadata_changed(self, image: MetadataImage) -> None:
        now = self._client.clock.now()
        self._watch.observe(self.topics, None, image, now)
        for error in self._watch.due_warnings(now):
            log.warning("%s", error)
        if self._watch.has_error:
            self._buffer.call_attention(EVENT)
        if image.awaits(self.topics) or self._watch.has_error:
            self._client.metadata_keeper.request_update()
        self._group.fetcher.follow_leaders()

    @property
    def errors(self) -> dict[str, KafkaError]:
        """What keeps subscribed topics from being read."""
        return self._watch.errors

    def take_error(self) -> KafkaError | None:
        """Return an error of a topic that the application has not got yet."""
        return self._watch.take_error()
