"""Decide what follows after a handler has failed. Pure."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from pyk.clients.arguments import checked_seconds
from pyk.clients.engine.backoff import Backoff
from pyk.clients.engine.topic_names import checked_topics
from pyk.clients.errors import DeserializationError
from pyk.runtime import slotted
from pyk.runtime.checked_arguments import checked_count


def _count(_: object, field: attrs.Attribute[int], value: object) -> None:
    checked_count(value, field.name, lowest=1)


def _seconds(_: object, field: attrs.Attribute[float], value: object) -> None:
    checked_seconds(value, field.name)


def _delays(given: Mapping[str, float]) -> Mapping[str, float]:
    """Return the delays of retry topics; the mapping itself stays the caller's to change."""
    if not isinstance(given, Mapping):
        raise TypeError(
            "topics must map the name of each retry topic to a delay in seconds, such as "
            f"{{'orders.retry.1m': 60}}, not {given!r}"
        )
    checked_topics(given)
    for topic, delay in given.items():
        checked_seconds(delay, f"the delay of {topic!r}")
    return dict(given)


@attrs.frozen
class RetryPolicy:
    """How often, and how, ``process()`` calls a handler again that has failed.

    The first ``attempts`` calls are made where the record was read: they hold up only what comes
    after it in its order, for ``backoff`` seconds after the first failure, twice as long after each
    further one, at most ``max_backoff``; each wait varies by a fifth at random. After them the
    record goes to the first of ``topics``, each of which has a delay in seconds, then to the next,
    each time for as many attempts again. Whoever reads these topics with the same policy waits
    until a record is due; nothing else waits for it.
    """

    attempts: int = attrs.field(default=3, validator=_count)
    backoff: float = attrs.field(default=0.5, validator=_seconds)
    max_backoff: float = attrs.field(default=30.0, validator=_seconds)
    topics: Mapping[str, float] = attrs.field(factory=dict, converter=_delays, kw_only=True)

    def backoff_after(self, failures: int, chance: float) -> float:
        """Return the seconds until the next attempt; ``chance`` is a random number from 0 to 1."""
        return Backoff(self.backoff, self.max_backoff).delay(failures, chance)

    def topic_after(self, topic: str) -> str | None:
        """Return the retry topic for a record that failed in ``topic``, None if there is none
        left."""
        names = list(self.topics)
        following = names[names.index(topic) + 1 :] if topic in names else names
        return following[0] if following else None


# Without a policy a handler is called once.
NO_RETRIES = RetryPolicy(attempts=1)


@slotted.frozen
class CallAgain:
    """Call the handler again after so many seconds."""

    seconds: float


@slotted.frozen
class MoveTo:
    """Write the record to a retry topic, where it is due after so many seconds."""

    topic: str
    seconds: float


@slotted.frozen
class GiveUp:
    """The record goes to the dead letters, or ends the call where there are none."""


def after_failure(
    policy: RetryPolicy, topic: str, failures: int, error: BaseException, chance: float
) -> CallAgain | MoveTo | GiveUp:
    """Return what to do about a record of ``topic`` that has failed so often there.

    Bytes that cannot be deserialized will not be the next time either.
    """
    if isinstance(error, DeserializationError):
        return GiveUp()
    if failures < policy.attempts:
        return CallAgain(policy.backoff_after(failures, chance))
    following = policy.topic_after(topic)
    return GiveUp() if following is None else MoveTo(following, policy.topics[following])
