"""The last push of each client, bounded in count and bytes. Pure."""

from __future__ import annotations

from collections import OrderedDict
from functools import cached_property
from uuid import UUID

from .otlp import Metric, decode_metrics
from .subscription import Attribute, Attributes

MAX_PUSHES = 1_000
MAX_BYTES = 64 * 1024 * 1024


class ClientMetrics:
    """What a client has pushed last."""

    def __init__(
        self, client_instance_id: UUID, client: Attributes, data: bytes, *, is_terminating: bool
    ) -> None:
        self.client_instance_id = client_instance_id
        self.client_id = client[Attribute.CLIENT_ID]
        self.software_name = client[Attribute.CLIENT_SOFTWARE_NAME]
        self.software_version = client[Attribute.CLIENT_SOFTWARE_VERSION]
        self.is_terminating = is_terminating
        """Whether the client has said that it is about to close."""
        self.data = data
        """The metrics as they came, decompressed."""

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """The values by name; raises :class:`InvalidMetricsError` for damaged data."""
        return decode_metrics(self.data)

    @property
    def size(self) -> int:
        """The bytes to count for what is kept."""
        words = (self.client_id, self.software_name, self.software_version)
        return len(self.data) + sum(map(len, words))

    def __repr__(self) -> str:
        return f"<ClientMetrics of {self.client_id!r}: {len(self.data)} bytes>"


class LatestPushes:
    """The last push of each client; the oldest make room for new ones."""

    def __init__(self, max_pushes: int = MAX_PUSHES, max_bytes: int = MAX_BYTES) -> None:
        self._pushes: OrderedDict[UUID, ClientMetrics] = OrderedDict()
        self._max_pushes, self._max_bytes = max_pushes, max_bytes
        self._bytes = 0

    def __contains__(self, client_instance_id: UUID) -> bool:
        return client_instance_id in self._pushes

    def keep(self, push: ClientMetrics) -> None:
        """Keep a push in place of the last one of its client."""
        self._drop(self._pushes.pop(push.client_instance_id, None))
        self._pushes[push.client_instance_id] = push
        self._bytes += push.size
        while len(self._pushes) > self._max_pushes or self._bytes > self._max_bytes:
            self._drop(self._pushes.popitem(last=False)[1])

    def _drop(self, push: ClientMetrics | None) -> None:
        if push is not None:
            self._bytes -= push.size

    def all(self) -> list[ClientMetrics]:
        """Return all that are kept, the latest last."""
        return list(self._pushes.values())
