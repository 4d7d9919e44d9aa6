"""How many connections there may be, and how fast they may come (KIP-402, KIP-612). Pure.

Connections count from the moment they are accepted, before any handshake of TLS. Where there are
too many of a listener or of the broker, no more are accepted: clients wait in the backlog, as with
Apache Kafka. Those of an address that has too many are closed.

The listener between brokers is protected, if it is not the only one: the limits of the whole broker
are for the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from pyk.reference_broker.quotas.sampled_rate import SampledRate
from pyk.runtime import slotted

ANY_NUMBER = 2_147_483_647
FEWEST_TO_FORGET = 1000
FULL_RETRY_MS = 50
"""How often to look whether there is a free place."""


@slotted.frozen
class PlaceLimits:
    """How many connections a listener, or the whole broker, has and accepts."""

    count: int = ANY_NUMBER
    per_second: int = ANY_NUMBER


@slotted.frozen(kw_only=True)
class ConnectionLimits:
    """The limits of all connections; ``protected`` is the listener between brokers, if it is."""

    broker: PlaceLimits = PlaceLimits()
    listeners: Mapping[str, PlaceLimits] = slotted.field(factory=dict)
    protected: str | None = None
    count_per_ip: int = ANY_NUMBER
    counts_by_ip: Mapping[str, int] = slotted.field(factory=dict)
    windows: int = 11
    window_ms: int = 1000

    def of_listener(self, listener: str) -> PlaceLimits:
        return self.listeners.get(listener, PlaceLimits())

    def of_ip(self, host: str) -> int:
        return self.counts_by_ip.get(host, self.count_per_ip)


class ConnectionCounts:
    """The connections of a broker, by listener and address. Times are monotonic milliseconds.

    ``limits`` may be replaced; connections that are there stay. ``rate_of_ip`` returns how many
    connections a second an address may open, None for any number.
    """

    def __init__(self, limits: ConnectionLimits, rate_of_ip: Callable[[str], float | None]) -> None:
        self.limits = limits
        self._rate_of_ip = rate_of_ip
        self._by_listener: Counter[str] = Counter()
        self._by_ip: Counter[str] = Counter()
        self._accepted = self._new_rate()
        self._accepted_by_listener: dict[str, SampledRate] = {}
        self._accepted_by_ip: dict[str, SampledRate] = {}
        self._forget_at = FEWEST_TO_FORGET

    @property
    def total(self) -> int:
        return self._by_listener.total()

    @property
    def is_exceeded(self) -> bool:
        """Whether those of the protected listener are more than there was room for."""
        return self.total > self.limits.broker.count

    def wait_ms(self, listener: str, now_ms: int) -> int:
        """Return for how many milliseconds to accept nothing on a listener; 0 if one may come."""
        own, broker = self.limits.of_listener(listener), self.limits.broker
        is_full = self._by_listener[listener] >= own.count
        throttle_ms = self._throttle_ms(self._rate_of(listener), own.per_second, now_ms)
        if listener != self.limits.protected:
            is_full = is_full or self.total >= broker.count
            of_broker = self._throttle_ms(self._accepted, broker.per_second, now_ms)
            throttle_ms = max(throttle_ms, of_broker)
        return max(throttle_ms, FULL_RETRY_MS if is_full else 0)

    def enter(self, listener: str, host: str, now_ms: int) -> int | None:
        """Admit a connection, or return after how many milliseconds to close it."""
        throttle_ms = self._throttle_of_ip(host, now_ms)
        if throttle_ms:
            return throttle_ms
        self._rate_of(listener).record(1, now_ms)
        if listener != self.limits.protected:
            self._accepted.record(1, now_ms)
        if self._by_ip[host] >= self.limits.of_ip(host):
            return 0
        self._by_listener[listener] += 1
        self._by_ip[host] += 1
        return None

    def leave(self, listener: str, host: str) -> None:
        """Note that a connection that was admitted has ended."""
        self._by_listener[listener] -= 1
        self._by_ip[host] -= 1
        if not self._by_ip[host]:
            del self._by_ip[host]

    def _throttle_ms(self, rate: SampledRate, limit: float, now_ms: int) -> int:
        if limit >= ANY_NUMBER:
            return 0
        return min(rate.throttle_ms(limit, now_ms, more=1), self.limits.window_ms)

    def _throttle_of_ip(self, host: str, now_ms: int) -> int:
        limit = self._rate_of_ip(host)
        if limit is None:
            return 0
        rate = self._accepted_by_ip.get(host)
        if rate is None:
            self._forget_idle(now_ms)
            rate = self._accepted_by_ip[host] = self._new_rate()
        throttle_ms = self._throttle_ms(rate, limit, now_ms)
        if not throttle_ms:
            rate.record(1, now_ms)
        return throttle_ms

    def _rate_of(self, listener: str) -> SampledRate:
        rate = self._accepted_by_listener.get(listener)
        if rate is None:
            rate = self._accepted_by_listener[listener] = self._new_rate()
        return rate

    def _new_rate(self) -> SampledRate:
        return SampledRate(self.limits.windows, self.limits.window_ms)

    def _forget_idle(self, now_ms: int) -> None:
        rates = self._accepted_by_ip
        if len(rates) >= self._forget_at:
            self._accepted_by_ip = {h: r for h, r in rates.items() if not r.is_idle(now_ms)}
            self._forget_at = max(FEWEST_TO_FORGET, 2 * len(self._accepted_by_ip))
