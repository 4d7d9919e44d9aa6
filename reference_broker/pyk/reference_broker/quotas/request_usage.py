"""What one request uses of the quotas of its client, from its arrival to its answer. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.reference_broker.errors import ApiError

from .client_quotas import ClientQuotas, QuotaClient
from .token_bucket import TokenBucket

FIRST_BROKERS_VERSION_OF_ADD_PARTITIONS = 4


def is_exempt(api_key: ApiKey, version: int) -> bool:
    """Return whether a request is one between brokers, which no quota may hold up.

    As in Kafka, it is charged to clients that may not send it.
    """
    if api_key is ApiKey.ADD_PARTITIONS_TO_TXN:
        return version >= FIRST_BROKERS_VERSION_OF_ADD_PARTITIONS
    return api_key is ApiKey.WRITE_TXN_MARKERS


class RequestUsage:
    """The use of quotas by one request. ``now`` returns monotonic seconds."""

    def __init__(
        self, quotas: ClientQuotas, client: QuotaClient, size: int, now: Callable[[], float]
    ) -> None:
        self._quotas = quotas
        self._client = client
        self._size = size
        self._now = now
        self._started = now()
        self._handled_at: float | None = None
        self._fetch_throttle_ms: int | None = None
        self._mutations: MutationQuota | None = None

    def handled(self) -> None:
        """Note that the handler has returned: a request that waits takes no time."""
        self._handled_at = self._now()

    @property
    def largest_fetch(self) -> int | None:
        """The most bytes that a fetch may be answered with, None for any."""
        return self._quotas.largest_fetch(self._client)

    def fetched(self, size: int) -> int:
        """Return how long the client must wait before a response of this size, in milliseconds.

        0 means that it can be sent. Otherwise it counts for nothing and must be empty.
        """
        now_ms = self._now_ms()
        handling_ms = self._quotas.handled(self._client, self._seconds(), now_ms)
        reading_ms = self._quotas.fetched(self._client, size, now_ms)
        throttle_ms = max(handling_ms, reading_ms)
        if throttle_ms:
            self._quotas.take_back_fetched(self._client, size, now_ms)
        self._fetch_throttle_ms = throttle_ms
        return throttle_ms

    def mutations(self, *, is_strict: bool) -> MutationQuota | None:
        """Return what changes of partitions are to be charged to, None if that is not limited.

        A strict quota refuses changes while there are debts, which clients of older versions do
        not understand: they only have to wait.
        """
        permits = self._quotas.mutation_permits(self._client, self._now_ms())
        if permits is not None:
            self._mutations = MutationQuota(permits, self._now_ms, is_strict=is_strict)
        return self._mutations

    def answered(self, api_key: ApiKey, *, has_response: bool) -> int:
        """Return for how many milliseconds the client must wait after the response."""
        if self._fetch_throttle_ms is not None:
            return self._fetch_throttle_ms
        now_ms, throttle_ms = self._now_ms(), 0
        if api_key is ApiKey.PRODUCE:
            throttle_ms = self._quotas.produced(self._client, self._size, now_ms)
        if has_response:
            handling_ms = self._quotas.handled(self._client, self._seconds(), now_ms)
            throttle_ms = max(throttle_ms, handling_ms)
        if self._mutations is not None:
            throttle_ms = max(throttle_ms, self._mutations.throttle_ms)
        return throttle_ms

    def _seconds(self) -> float:
        end = self._now() if self._handled_at is None else self._handled_at
        return end - self._started

    def _now_ms(self) -> int:
        return int(self._now() * 1000)


class MutationQuota:
    """What the partitions that one request creates or deletes are charged to (KIP-599)."""

    def __init__(self, permits: TokenBucket, now_ms: Callable[[], int], *, is_strict: bool) -> None:
        self._permits = permits
        self._now_ms = now_ms
        self._is_strict = is_strict
        self._throttled_until_ms = 0

    def charge(self, partitions: int) -> None:
        """Note that partitions are created or deleted.

        Raises :class:`ApiError` with THROTTLING_QUOTA_EXCEEDED if they may not be; then nothing was
        noted.
        """
        now_ms = self._now_ms()
        if self._is_strict and self._permits.permits(now_ms) < 0:
            self._throttled_until_ms = now_ms + self._permits.throttle_ms(now_ms)
            raise ApiError(ErrorCode.THROTTLING_QUOTA_EXCEEDED)
        self._permits.take(partitions, now_ms)
        if not self._is_strict:
            self._throttled_until_ms = now_ms + self._permits.throttle_ms(now_ms)

    @property
    def throttle_ms(self) -> int:
        """For how long the client must wait from now on."""
        return max(0, self._throttled_until_ms - self._now_ms())


def set_throttle_time(response: Any, throttle_ms: int) -> None:
    """Tell the client of a response, if there is one, for how long it must wait."""
    if hasattr(response, "throttle_time_ms"):
        response.throttle_time_ms = max(response.throttle_time_ms, throttle_ms)
