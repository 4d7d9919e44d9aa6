"""What clients have used of their quotas, and how long they have to wait. Pure.

Rates are those of Apache Kafka: bytes of requests to produce, bytes of responses to fetches, the
share of time that requests take, and permits for the partitions that are created and deleted.
"""

from __future__ import annotations

from pyk.reference_broker.controller.client_quotas import (
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    ClientQuotasImage,
)
from pyk.runtime import slotted

from .precedence import Sharers, client_quota
from .sampled_rate import SampledRate
from .token_bucket import TokenBucket

FEWEST_TO_FORGET = 1000


@slotted.frozen
class QuotaWindows:
    """How many windows count, the current one included, and how long each is."""

    count: int = 11
    size_ms: int = 1000


@slotted.frozen
class QuotaClient:
    """Who has a quota; the client id is empty where a client tells none."""

    user: str
    client_id: str


class ClientQuotas:
    """The quotas of all clients of a broker, as of the metadata image.

    What clients have used is remembered for as long as it counts. Times are milliseconds of any
    clock that only goes forward.
    """

    def __init__(
        self,
        image: ClientQuotasImage,
        windows: QuotaWindows,
        mutation_windows: QuotaWindows,
    ) -> None:
        self._image = image
        self._windows = windows
        self._mutation_windows = mutation_windows
        self._rates: dict[tuple[str, Sharers], SampledRate] = {}
        self._buckets: dict[Sharers, TokenBucket] = {}
        self._forget_at = FEWEST_TO_FORGET

    def produced(self, client: QuotaClient, size: int, now_ms: int) -> int:
        """Note a request to produce; return for how many milliseconds its client must wait."""
        return self._use(PRODUCER_BYTE_RATE, client, size, now_ms)

    def fetched(self, client: QuotaClient, size: int, now_ms: int) -> int:
        """Note a response to a fetch; return how long its client must wait and ask again."""
        return self._use(CONSUMER_BYTE_RATE, client, size, now_ms)

    def take_back_fetched(self, client: QuotaClient, size: int, now_ms: int) -> None:
        """Note that a response to a fetch is not sent after all."""
        self._use(CONSUMER_BYTE_RATE, client, -size, now_ms)

    def largest_fetch(self, client: QuotaClient) -> int | None:
        """Return the size above which a client would have to wait for ever, None for any size."""
        quota = client_quota(self._image, CONSUMER_BYTE_RATE, client.user, client.client_id)
        if quota is None:
            return None
        return int(quota.limit * (self._windows.count - 1) * self._windows.size_ms / 1000)

    def handled(self, client: QuotaClient, seconds: float, now_ms: int) -> int:
        """Note how long a request took; return for how many milliseconds its client must wait.

        As in Kafka that is one window at most.
        """
        throttle_ms = self._use(REQUEST_PERCENTAGE, client, seconds * 100, now_ms)
        return min(throttle_ms, self._windows.size_ms)

    def mutation_permits(self, client: QuotaClient, now_ms: int) -> TokenBucket | None:
        """Return the permits of a client to create and delete partitions, None for any number."""
        quota = client_quota(self._image, CONTROLLER_MUTATION_RATE, client.user, client.client_id)
        if quota is None:
            return None
        bucket = self._buckets.get(quota.sharers)
        if bucket is None:
            self._forget_idle(now_ms)
            windows = self._mutation_windows
            bucket = TokenBucket(windows.count * windows.size_ms / 1000, quota.limit)
            self._buckets[quota.sharers] = bucket
        bucket.per_second = quota.limit
        return bucket

    def _use(self, name: str, client: QuotaClient, amount: float, now_ms: int) -> int:
        quota = client_quota(self._image, name, client.user, client.client_id)
        if quota is None:
            return 0
        key = (name, quota.sharers)
        rate = self._rates.get(key)
        if rate is None:
            self._forget_idle(now_ms)
            rate = self._rates[key] = SampledRate(self._windows.count, self._windows.size_ms)
        rate.record(amount, now_ms)
        return rate.throttle_ms(quota.limit, now_ms)

    def _forget_idle(self, now_ms: int) -> None:
        """Keep the memory of clients that come and go bounded: they choose their ids."""
        if len(self._rates) + len(self._buckets) < self._forget_at:
            return
        self._rates = {k: each for k, each in self._rates.items() if not each.is_idle(now_ms)}
        self._buckets = {k: each for k, each in self._buckets.items() if not each.is_idle(now_ms)}
        self._forget_at = max(FEWEST_TO_FORGET, 2 * (len(self._rates) + len(self._buckets)))
