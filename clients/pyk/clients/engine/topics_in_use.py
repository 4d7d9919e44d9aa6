"""The topics that a client keeps metadata of, and the search for one of them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator

from pyk.clients.engine.metadata import TopicMetadata
from pyk.clients.engine.metadata_keeper import MetadataKeeper
from pyk.clients.engine.topic_names import checked_topics
from pyk.clients.errors import KafkaError, KafkaTimeoutError, error_for
from pyk.clients.errors.base import copy_to_raise
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode


class TopicsInUse:
    """Says which topics metadata are asked for: each part of a client names those that it uses.

    Topics that are unknown are asked for at once. All methods raise :class:`InvalidTopicError` for
    a name that no topic can have.
    """

    def __init__(self, keeper: MetadataKeeper) -> None:
        self._keeper = keeper
        self._interest = keeper.interest

    def use(self, user: str, topics: Iterable[str]) -> None:
        """Keep metadata of these topics for a user of the client, and of no others for it."""
        names = checked_topics(topics)
        self._ask_for_new(names)
        self._interest.use(user, names)

    def also_use(self, user: str, topics: Iterable[str]) -> None:
        """Keep metadata of these topics beside the others of a user."""
        names = checked_topics(topics)
        self._ask_for_new(names)
        self._interest.also_use(user, names)

    @contextlib.contextmanager
    def using(self, topics: Iterable[str]) -> Iterator[None]:
        """Keep metadata of these topics for as long as a call lasts."""
        names = checked_topics(topics)
        self._ask_for_new(names)
        self._interest.begin_wait(names)
        try:
            yield
        finally:
            self._interest.end_wait(names)

    def use_all(self, *, enabled: bool = True) -> None:
        """Keep metadata of every topic of the cluster, or again only of those in use."""
        if enabled and not self._interest.wants_all:
            self._keeper.request_update_at_once()
        self._interest.wants_all = enabled

    async def find(self, name: str, deadline: float) -> TopicMetadata:
        """Return the metadata of a topic that exists, from memory or by asking until the deadline.

        Raises the broker's error to this call if it is not retriable, otherwise
        :class:`KafkaTimeoutError` that names the last error. After an error of an earlier call it
        asks again, with backoff: what was denied may be granted by now.
        """
        keeper = self._keeper
        with self.using([name]):
            answers = keeper.answers
            while True:
                image = keeper.image
                topic = image.topic(name)
                if topic is not None and topic.error_code == ErrorCode.NONE:
                    return topic
                error = None
                if topic is not None:
                    error = error_for(topic.error_code, topic=name, api_key=ApiKey.METADATA)
                if error is not None:
                    if not error.retriable and keeper.answers > answers:
                        raise error
                    keeper.request_missing()
                try:
                    await keeper.updated(image.version, deadline)
                except KafkaTimeoutError as timed_out:
                    reason = error or keeper.last_error or timed_out
                    raise _no_topic(name, reason) from reason

    def _ask_for_new(self, topics: Iterable[str]) -> None:
        image, interest = self._keeper.image, self._interest
        if any(image.topic(name) is None and not interest.needs(name) for name in topics):
            self._keeper.request_update_at_once()


def _no_topic(name: str, reason: KafkaError) -> KafkaError:
    """Return the error of a topic that could not be found before the deadline."""
    if not reason.retriable:
        return copy_to_raise(reason)
    return KafkaTimeoutError(f"no metadata of topic {name!r} in time: {reason}", topic=name)
