"""Faults on demand: rules that say which requests go wrong, and how.

    cluster.faults.on("Produce", topic="orders").once().apply_then_lose_response()
    with cluster.faults.on("Fetch", node=0).delay(300):
        ...

A rule matches requests by API, node, client, version, topic, partition and group, skips the first
few with :meth:`FaultRule.after`, and ends after :meth:`FaultRule.times`. Of several rules that
match, all count and their delays add up; of those that end a request the first one wins. Rules may
be made, read and removed by any thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Self

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.runtime import slotted

_APIS = {key.name.replace("_", ""): key for key in ApiKey}


@slotted.frozen(kw_only=True)
class RequestFacts:
    """The facts of a request that rules can match."""

    api_key: ApiKey
    node: int
    version: int
    client_id: str
    group: str | None = None
    partitions: tuple[tuple[str, int | None], ...] = ()
    """Topics and partitions it is about; no number where it is about a topic as a whole."""


@slotted.define(kw_only=True)
class Effect:
    """What happens to one request."""

    delay_ms: float = 0
    throttle_ms: int = 0
    error: ErrorCode | None = None
    partitions: frozenset[tuple[str, int | None]] | None = None
    """Where the error goes; None: everywhere."""
    is_dropped: bool = False
    is_response_lost: bool = False
    is_half_open: bool = False
    is_closed: bool = False
    truncate_to: int | None = None
    corrupt_at: int | None = None

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


class FaultRule:
    """One rule; see :meth:`FaultRules.on`. As a context manager it ends with its block."""

    def __init__(
        self,
        matches: Callable[[RequestFacts], frozenset[tuple[str, int | None]] | None],
        remove: Callable[[FaultRule], None],
        text: str,
    ) -> None:
        self._matches = matches
        self._remove = remove
        self._text = text
        self._skip = 0
        self._remaining: int | None = None
        self._effect = Effect()
        self.seen = 0
        """How many requests matched, those included that were let through."""
        self.hits = 0
        """How many requests it was applied to."""

    def __repr__(self) -> str:
        return f"<FaultRule {self._text}: {self.hits} hits>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.remove()

    def remove(self) -> None:
        """Remove the rule from its cluster."""
        self._remove(self)

    # -- which -----------------------------------------------------------------------------------

    def times(self, count: int) -> Self:
        """Apply to ``count`` requests only."""
        self._remaining = count
        return self

    def once(self) -> Self:
        """Apply to one request only."""
        return self.times(1)

    def after(self, count: int) -> Self:
        """Let ``count`` requests through first."""
        self._skip = count
        return self

    # -- what ------------------------------------------------------------------------------------

    def error(self, code: str | ErrorCode) -> Self:
        """Answer with an error and do nothing else; a rule with a topic only for its partitions."""
        if isinstance(code, str) and code not in ErrorCode.__members__:
            raise ValueError(f"no error {code!r}; Kafka's names are like 'NOT_LEADER_OR_FOLLOWER'")
        self._effect.error = ErrorCode[code] if isinstance(code, str) else code
        return self

    def delay(self, milliseconds: float) -> Self:
        """Wait before the request is carried out."""
        self._effect.delay_ms = milliseconds
        return self

    def throttle(self, milliseconds: int) -> Self:
        """Tell the client that it was throttled for this long."""
        self._effect.throttle_ms = milliseconds
        return self

    def drop_before_apply(self) -> Self:
        """Lose the request: nothing is carried out, and the connection stays open and silent."""
        self._effect.is_dropped = True
        return self

    def apply_then_lose_response(self, *, half_open: bool = False) -> Self:
        """Carry the request out, then lose the connection before the response.

        ``half_open`` leaves the connection open but silent, so that the client has to time out.
        """
        self._effect.is_response_lost = True
        self._effect.is_half_open = half_open
        return self

    def close(self) -> Self:
        """Close the connection instead of carrying the request out."""
        self._effect.is_closed = True
        return self

    def truncate(self, size: int = 10) -> Self:
        """Send the first bytes of the response, its length included, then close the connection."""
        self._effect.truncate_to = size
        return self

    def corrupt(self, position: int = -1) -> Self:
        """Invert all bits of one byte of the response, by default the last."""
        self._effect.corrupt_at = position
        return self

    # -- applying --------------------------------------------------------------------------------

    def apply(self, facts: RequestFacts) -> Effect | None:
        """Return what this rule does to a request, None if it does not apply."""
        partitions = self._matches(facts)
        if partitions is None or self._remaining == 0:
            return None
        self.seen += 1
        if self.seen <= self._skip:
            return None
        if self._remaining is not None:
            self._remaining -= 1
        self.hits += 1
        return slotted.evolve(self._effect, partitions=partitions or None)


class FaultRules:
    """The rules of a cluster."""

    def __init__(self) -> None:
        self._rules: tuple[FaultRule, ...] = ()

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

        A rule does nothing but count until it is told what to do.
        """
        api_key = api if isinstance(api, ApiKey) else _api_key(api)
        exact = {"node": node, "client_id": client_id, "version": version, "group": group}
        wanted = {name: value for name, value in exact.items() if value is not None}

        def matches(facts: RequestFacts) -> frozenset[tuple[str, int | None]] | None:
            if facts.api_key is not api_key:
                return None
            if any(getattr(facts, name) != value for name, value in wanted.items()):
                return None
            if topic is None and partition is None:
                return frozenset()
            chosen = frozenset(_chosen(facts.partitions, topic, partition))
            return chosen or None

        details = {**wanted, "topic": topic, "partition": partition}
        text = ", ".join(f"{name}={value}" for name, value in details.items() if value is not None)
        rule = FaultRule(matches, self._remove, f"on {api_key.api_name}({text})")
        self._rules = (*self._rules, rule)
        return rule

    def clear(self) -> None:
        """Remove all rules."""
        self._rules = ()

    def effect_on(self, facts: RequestFacts) -> Effect | None:
        """Return what is to happen to a request, None for nothing."""
        applied = [effect for rule in self._rules if (effect := rule.apply(facts)) is not None]
        if not applied:
            return None
        ending = next((effect for effect in applied if effect.ends_request), applied[0])
        return slotted.evolve(
            ending,
            delay_ms=sum(effect.delay_ms for effect in applied),
            throttle_ms=sum(effect.throttle_ms for effect in applied),
        )

    def _remove(self, rule: FaultRule) -> None:
        self._rules = tuple(each for each in self._rules if each is not rule)


def _api_key(name: str) -> ApiKey:
    key = _APIS.get(name.replace("_", "").upper())
    if key is None:
        raise ValueError(f"no API {name!r}; Kafka's names are like 'Produce' and 'JoinGroup'")
    return key


def _chosen(
    partitions: Iterable[tuple[str, int | None]], topic: str | None, partition: int | None
) -> Iterable[tuple[str, int | None]]:
    for name, number in partitions:
        if topic in (None, name) and (partition is None or number in (None, partition)):
            yield name, number
