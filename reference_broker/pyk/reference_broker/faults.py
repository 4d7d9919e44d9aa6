"""Faults on demand: rules that say which requests go wrong, and how.

    cluster.faults.on("Produce", topic="orders").once().apply_then_lose_response()
    with cluster.faults.on("Fetch", node=0).delay(300):
        ...

A rule matches requests by API, node, client, version, topic, partition and group, skips the first
few with :meth:`FaultRule.after`, and ends after :meth:`FaultRule.times`. Of several rules that
match, all count and their delays add up; of those that end a request the first one wins. Besides,
a node can be paused, and the cluster can pretend to be an older release. All of that may be made,
read and removed by any thread.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.releases import versions_of
from pyk.runtime import slotted
from pyk.runtime.checked_arguments import (
    check_is_number,
    checked_count,
    checked_flag,
    checked_int,
    checked_number,
)
from pyk.runtime.wrong_twin import BlockingBlock

from .cluster_arguments import check_criteria, check_node
from .fault_facts import check_is_served, check_names_groups, check_names_topics
from .fault_names import api_key_of, error_code_of

if TYPE_CHECKING:
    from .controller.image import MetadataImage

log = logging.getLogger(__name__)

Partitions = frozenset[tuple[str, int | None]]
"""Topics and partitions; no number where a topic as a whole is meant."""

MOST_THROTTLE_MS = 2**31 - 1
"""What the field of a response holds."""

_TELL_METADATA = (ApiKey.METADATA, ApiKey.DESCRIBE_TOPIC_PARTITIONS, ApiKey.DESCRIBE_CLUSTER)


@slotted.frozen(kw_only=True)
class RequestFacts:
    """The facts of a request that rules can match."""

    api_key: ApiKey
    node: int
    version: int
    client_id: str
    groups: tuple[str, ...] = ()
    partitions: tuple[tuple[str, int | None], ...] = ()
    """Topics and partitions it is about; no number where it is about a topic as a whole."""


@slotted.define(eq=False)
class StaleMetadata:
    """The metadata of an earlier moment."""

    image: MetadataImage | None
    """None until the first request that it answers: the node was down before."""


@slotted.define(kw_only=True)
class Effect:
    """The effect of faults on one request."""

    delay_ms: float = 0
    throttle_ms: int = 0
    error: ErrorCode | None = None
    partitions: Partitions | None = None
    """Where the error goes; None: everywhere."""
    is_dropped: bool = False
    is_response_lost: bool = False
    is_half_open: bool = False
    is_closed: bool = False
    truncate_to: int | None = None
    corrupt_at: int | None = None
    is_duplicated: bool = False
    overtaken_by: RequestFilter | None = None
    """It is carried out after the next request that this selects."""
    stale: StaleMetadata | None = None
    """The metadata that the response comes from."""

    @property
    def is_nothing(self) -> bool:
        """Return whether no fault was named."""
        changes_order = self.is_duplicated or self.overtaken_by is not None
        changes_response = self.throttle_ms or self.ends_request or self.stale is not None
        return not (self.delay_ms or changes_response or changes_order)

    @property
    def ends_request(self) -> bool:
        """Return whether the request or its response goes wrong, and not only takes longer."""
        return (
            self.error is not None
            or self.is_dropped
            or self.is_response_lost
            or self.is_closed
            or self.truncate_to is not None
            or self.corrupt_at is not None
        )


@slotted.frozen(kw_only=True)
class RequestFilter:
    """Selects the requests that a rule is for: those of an API with all the given facts."""

    api_key: ApiKey
    facts: Mapping[str, object]
    """Node, client id and version, as far as they matter."""
    group: str | None = None
    topic: str | None = None
    partition: int | None = None

    def __str__(self) -> str:
        names = {"group": self.group, "topic": self.topic, "partition": self.partition}
        details = {**self.facts, **names}
        given = (f"{name}={value}" for name, value in details.items() if value is not None)
        return f"{self.api_key.api_name}({', '.join(given)})"

    def select(self, facts: RequestFacts) -> Partitions | None:
        """Return the partitions of a request that it is about, None if it is not about it.

        A filter that names neither topic nor partition selects no partitions: it is about the
        request as a whole.
        """
        if facts.api_key is not self.api_key:
            return None
        if any(getattr(facts, name) != value for name, value in self.facts.items()):
            return None
        if self.group is not None and self.group not in facts.groups:
            return None
        if self.topic is None and self.partition is None:
            return frozenset()
        return frozenset(filter(self._names, facts.partitions)) or None

    def _names(self, partition: tuple[str, int | None]) -> bool:
        topic, number = partition
        return self.topic in (None, topic) and (
            self.partition is None or number in (None, self.partition)
        )


@slotted.define
class Occurrences:
    """Counts the requests that match a rule, and decides to which of them it applies."""

    to_skip: int = 0
    remaining: int | None = None
    """None: to all."""
    probability: float = 1.0
    seen: int = 0
    hits: int = 0

    def count(self, draw: Callable[[], float]) -> bool:
        """Count a request that matches; return whether the rule applies to it."""
        if self.remaining == 0:
            return False
        self.seen += 1
        if self.seen <= self.to_skip:
            return False
        if self.probability < 1 and draw() >= self.probability:
            return False
        if self.remaining is not None:
            self.remaining -= 1
        self.hits += 1
        return True


class FaultRule(BlockingBlock):
    """One rule; see :meth:`FaultRules.on`. As a context manager it ends with its block."""

    def __init__(
        self,
        requests: RequestFilter,
        remove: Callable[[FaultRule], None],
        metadata: Callable[[], MetadataImage | None],
    ) -> None:
        self.requests = requests
        self.occurrences = Occurrences()
        self.effect = Effect()
        self._remove = remove
        self._metadata = metadata

    def __repr__(self) -> str:
        return f"<FaultRule on {self.requests}: {self.hits} hits>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.remove()

    @property
    def seen(self) -> int:
        """The number of requests that matched, those included that were let through."""
        return self.occurrences.seen

    @property
    def hits(self) -> int:
        """The number of requests that it was applied to."""
        return self.occurrences.hits

    def remove(self) -> None:
        """Remove the rule from its cluster."""
        self._remove(self)

    # -- which -----------------------------------------------------------------------------------

    def times(self, count: int) -> Self:
        """Apply to ``count`` requests only."""
        self.occurrences.remaining = checked_count(count, "times", 1)
        return self

    def once(self) -> Self:
        """Apply to one request only."""
        return self.times(1)

    def after(self, count: int) -> Self:
        """Let ``count`` requests through first."""
        self.occurrences.to_skip = checked_count(count, "after")
        return self

    def probability(self, probability: float) -> Self:
        """Apply to a random part of the requests: 0.1 is one in ten."""
        check_is_number(probability, "probability")
        if not 0 < probability <= 1:
            raise ValueError(f"probability must be above 0 and at most 1, not {probability}")
        self.occurrences.probability = probability
        return self

    # -- what ------------------------------------------------------------------------------------

    def error(self, code: str | ErrorCode) -> Self:
        """Answer with an error and do nothing else; a rule with a topic only for its partitions."""
        self.effect.error = error_code_of(code)
        return self

    def delay(self, milliseconds: float) -> Self:
        """Wait before the request is carried out."""
        self.effect.delay_ms = checked_number(milliseconds, "delay")
        return self

    def throttle(self, milliseconds: int) -> Self:
        """Tell the client that it was throttled for this long."""
        if checked_count(milliseconds, "throttle") > MOST_THROTTLE_MS:
            raise ValueError(f"throttle must be at most {MOST_THROTTLE_MS} ms, not {milliseconds}")
        self.effect.throttle_ms = milliseconds
        return self

    def drop_before_apply(self) -> Self:
        """Lose the request: nothing is carried out, and the connection stays open and silent."""
        self.effect.is_dropped = True
        return self

    def apply_then_lose_response(self, *, half_open: bool = False) -> Self:
        """Carry the request out, then lose the connection before the response.

        ``half_open`` leaves the connection open but silent, so that the client has to time out.
        """
        self.effect.is_half_open = checked_flag(half_open, "half_open")
        self.effect.is_response_lost = True
        return self

    def close(self) -> Self:
        """Close the connection instead of carrying the request out."""
        self.effect.is_closed = True
        return self

    def truncate(self, size: int = 10) -> Self:
        """Send the first bytes of the response, its length included, then close the connection."""
        self.effect.truncate_to = checked_count(size, "truncate")
        return self

    def corrupt(self, position: int = -1) -> Self:
        """Invert all bits of one byte of the response, by default the last.

        Its length comes first, in 4 bytes. A position after its end means the last byte.
        """
        self.effect.corrupt_at = checked_int(position, "position")
        return self

    def duplicate(self) -> Self:
        """Carry the request out twice, and answer as the first time."""
        self.effect.is_duplicated = True
        return self

    def reorder(self) -> Self:
        """Carry the request out after the next one that matches, even if its client has gone.

        A connection has its requests carried out in order, so the next one comes on another.
        """
        self.effect.overtaken_by = self.requests
        return self

    def stale(self) -> Self:
        """Answer with the metadata of now, however they change.

        For the requests that tell metadata: Metadata, DescribeTopicPartitions, DescribeCluster.
        """
        if self.requests.api_key not in _TELL_METADATA:
            names = ", ".join(key.api_name for key in _TELL_METADATA)
            raise ValueError(
                f"stale() is for requests that tell metadata ({names}), not for "
                f"{self.requests.api_key.api_name}"
            )
        self.effect.stale = StaleMetadata(self._metadata())
        return self


class Pause(BlockingBlock):
    """A node, or all, that takes requests and carries none out; ends with its block."""

    def __init__(self, node: int | None, remove: Callable[[Pause], None]) -> None:
        self.node = node
        self.is_over = False
        self._remove = remove
        self._wake_ups: deque[Callable[[], object]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.resume()

    def resume(self) -> None:
        """Carry out what has arrived, in its order, and everything after it."""
        self._remove(self)
        self.is_over = True
        while self._wake_ups:
            self._wake_ups.popleft()()

    def when_over(self, wake_up: Callable[[], object]) -> None:
        """Call ``wake_up``, by any thread, when it is over; twice at most."""
        self._wake_ups.append(wake_up)
        if self.is_over:  # another thread may have ended it just before
            wake_up()


class FaultRules:
    """The rules of a cluster, its pauses, and the release of Kafka that it pretends to be.

    ``draw`` returns a random number from 0 to 1, ``metadata`` a copy of the metadata of now, None
    if no node is running. ``nodes`` is how many nodes there are.
    """

    def __init__(
        self,
        draw: Callable[[], float] = float,
        metadata: Callable[[], MetadataImage | None] = lambda: None,
        nodes: int = 1,
    ) -> None:
        self.nodes = nodes
        self._draw = draw
        self._metadata = metadata
        self._rules: tuple[FaultRule, ...] = ()
        self._pauses: tuple[Pause, ...] = ()
        self.release: str | None = None
        """The release of Kafka whose versions are served, None for this broker's own."""

    @property
    def rules(self) -> tuple[FaultRule, ...]:
        return self._rules

    def on(
        self,
        api: str | ApiKey,
        *,
        topic: str | None = None,
        partition: int | None = None,
        node: int | None = None,
        client_id: str | None = None,
        version: int | None = None,
        group: str | None = None,
    ) -> FaultRule:
        """Add a rule for requests of an API (``"Produce"``) that match all that is given.

        A rule without a fault changes nothing, counts, and says so in the log. Raises
        ``ValueError`` if requests of the API have no topics, partitions or groups to match, not
        this version, or the cluster not this node.
        """
        api_key = api if isinstance(api, ApiKey) else api_key_of(api)
        if topic is not None or partition is not None:
            check_names_topics(api_key)
        if group is not None:
            check_names_groups(api_key)
        check_criteria(
            {"topic": topic, "client_id": client_id, "group": group},
            {"partition": partition, "version": version},
        )
        check_is_served(api_key, version)
        if node is not None:
            check_node(node, self.nodes)
        exact = {"node": node, "client_id": client_id, "version": version}
        requests = RequestFilter(
            api_key=api_key,
            facts={name: value for name, value in exact.items() if value is not None},
            group=group,
            topic=topic,
            partition=partition,
        )
        rule = FaultRule(requests, self._remove, self._metadata)
        self._rules = (*self._rules, rule)
        return rule

    @property
    def has_any(self) -> bool:
        """Return whether requests may be treated in another way than usual."""
        return bool(self._rules or self._pauses or self.release)

    def pause(self, node: int | None = None) -> Pause:
        """Let a node, by default all, answer nothing until :meth:`Pause.resume`.

        Connections stay open and new ones are accepted, as if the process were stopped.
        """
        if node is not None:
            check_node(node, self.nodes)
        pause = Pause(node, self._remove_pause)
        self._pauses = (*self._pauses, pause)
        return pause

    def pause_of(self, node: int) -> Pause | None:
        """Return the oldest pause that a node is in, None if it works."""
        return next((each for each in self._pauses if each.node in (None, node)), None)

    def pretend(self, release: str | None) -> None:
        """Serve the versions of a release of Kafka, such as ``"2.1"``; None: the broker's own.

        A connection that was made before is closed if it uses one that is not served any more.
        """
        if release is not None:
            versions_of(release)  # raises for an unknown one
        self.release = release

    def clear(self) -> None:
        """Remove all rules, end all pauses, and pretend nothing."""
        self._rules = ()
        self.release = None
        for pause in self._pauses:
            pause.resume()

    def effect_on(self, facts: RequestFacts) -> Effect | None:
        """Return the effect on a request, None for no effect."""
        applied = [
            effect for rule in self._rules if (effect := self._apply(rule, facts)) is not None
        ]
        if not applied:
            return None
        ending = next((effect for effect in applied if effect.ends_request), applied[0])
        return slotted.evolve(
            ending,
            delay_ms=sum(effect.delay_ms for effect in applied),
            throttle_ms=sum(effect.throttle_ms for effect in applied),
            is_duplicated=any(effect.is_duplicated for effect in applied),
            overtaken_by=next((each.overtaken_by for each in applied if each.overtaken_by), None),
            stale=next((each.stale for each in applied if each.stale), None),
        )

    def _apply(self, rule: FaultRule, facts: RequestFacts) -> Effect | None:
        """Return what a rule does to a request, None if it does not apply."""
        partitions = rule.requests.select(facts)
        if partitions is None or not rule.occurrences.count(self._draw):
            return None
        if rule.effect.is_nothing and rule.hits == 1:
            log.warning(
                "A rule on %s has no fault and changes nothing: add .error(…) or another one",
                rule.requests,
            )
        return slotted.evolve(rule.effect, partitions=partitions or None)

    def _remove_pause(self, pause: Pause) -> None:
        self._pauses = tuple(each for each in self._pauses if each is not pause)

    def _remove(self, rule: FaultRule) -> None:
        self._rules = tuple(each for each in self._rules if each is not rule)
