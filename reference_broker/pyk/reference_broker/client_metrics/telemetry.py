"""What a broker answers to clients about their metrics, and keeps of those. Pure."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsResponse
from pyk.protocol.messages.push_telemetry import PushTelemetryRequest
from pyk.protocol.records.compression import Compression, decompress
from pyk.protocol.records.errors import RecordBatchError, UnsupportedCompressionError
from pyk.reference_broker.config.errors import InvalidConfigError
from pyk.reference_broker.controller.image import CLIENT_METRICS_RESOURCE, MetadataImage
from pyk.reference_broker.errors import ApiError
from pyk.reference_broker.storage.partition_metadata import encode_id

from .client_instances import ClientInstance, ClientInstances
from .latest_pushes import ClientMetrics, LatestPushes
from .subscription import Attribute, Attributes, Request, Subscription

log = logging.getLogger(__name__)

RESERVED_IDS = (UUID(int=0), UUID(int=1))
ACCEPTED = (Compression.ZSTD, Compression.LZ4, Compression.GZIP, Compression.SNAPPY)
"""The codecs for pushes, in the order in which Kafka prefers them; a push may have none, too."""


class Connection(Protocol):
    """What a client's connection must have."""

    @property
    def connection_id(self) -> int: ...
    def when_lost(self, listener: Callable[[], object]) -> None: ...


class Telemetry:
    """The subscriptions to metrics of clients, and what clients have pushed."""

    def __init__(
        self,
        image: MetadataImage,
        max_bytes: int,
        new_uuid: Callable[[], UUID],
    ) -> None:
        self._image = image
        self._max_bytes = max_bytes
        self._new_uuid = new_uuid
        self._instances = ClientInstances()
        self._instance_of: dict[int, UUID] = {}
        """The last client of each connection."""
        self._subscriptions: list[Subscription] = []
        self._generation = -1
        self.pushes = LatestPushes()
        """What came last."""

    def subscriptions_for(
        self,
        client_instance_id: UUID,
        client: Attributes,
        connection: Connection | None,
        now: float,
    ) -> GetTelemetrySubscriptionsResponse:
        """Return what a client is to push; raise :class:`ApiError` if it asks too early."""
        if not client_instance_id.int:
            client_instance_id = self._new_uuid()
        instance = self._seen(client_instance_id, client, connection, now)
        instance.check_get(now)
        instance.last_error = ErrorCode.NONE
        return GetTelemetrySubscriptionsResponse(
            client_instance_id=client_instance_id,
            subscription_id=instance.subscription_id,
            accepted_compression_types=[each.codec for each in ACCEPTED],
            push_interval_ms=instance.request.interval_ms,
            telemetry_max_bytes=self._max_bytes,
            delta_temporality=True,
            requested_metrics=list(instance.request.metrics),
        )

    def pushed(
        self,
        request: PushTelemetryRequest,
        client: Attributes,
        connection: Connection | None,
        now: float,
    ) -> None:
        """Keep what a client has pushed; raise :class:`ApiError` if it is refused."""
        if request.client_instance_id in RESERVED_IDS:
            raise ApiError(ErrorCode.INVALID_REQUEST)
        instance = self._seen(request.client_instance_id, client, connection, now)
        try:
            instance.check_push(request.subscription_id, now, is_terminating=request.terminating)
            data = self._decompressed(request)
        except ApiError as error:
            instance.last_error = error.code
            raise
        instance.last_error = ErrorCode.NONE
        if data:
            self._keep(request, client, data)

    def _decompressed(self, request: PushTelemetryRequest) -> bytes:
        if request.compression_type < 0:
            raise ApiError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
        try:
            compression = Compression.of_codec(request.compression_type)
        except UnsupportedCompressionError:
            raise ApiError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE) from None
        if len(request.metrics) > self._max_bytes:
            raise ApiError(ErrorCode.TELEMETRY_TOO_LARGE)
        if not request.metrics:
            return b""
        try:
            return bytes(decompress(compression, memoryview(request.metrics), self._max_bytes))
        except RecordBatchError as error:
            log.warning("Refused metrics of a client: %s", error)
            raise ApiError(ErrorCode.INVALID_RECORD) from None

    def _keep(self, request: PushTelemetryRequest, client: Attributes, data: bytes) -> None:
        push = ClientMetrics(
            request.client_instance_id, client, data, is_terminating=request.terminating
        )
        log.log(
            logging.DEBUG if request.client_instance_id in self.pushes else logging.INFO,
            "Client %s (%s %s) pushes metrics: %d bytes",
            push.client_id,
            push.software_name,
            push.software_version,
            len(data),
        )
        self.pushes.keep(push)

    def _seen(
        self,
        client_instance_id: UUID,
        client: Attributes,
        connection: Connection | None,
        now: float,
    ) -> ClientInstance:
        self._update_subscriptions()
        if connection is not None:
            self._follow(connection, client_instance_id)
        return self._instances.seen(
            client_instance_id,
            self._generation,
            lambda: Request.of(
                self._subscriptions,
                {**client, Attribute.CLIENT_INSTANCE_ID: encode_id(client_instance_id)},
            ),
            now,
        )

    def _follow(self, connection: Connection, client_instance_id: UUID) -> None:
        """Forget the client when its connection is closed."""
        key = connection.connection_id
        if key not in self._instance_of:
            connection.when_lost(lambda: self._instances.forget(self._instance_of.pop(key)))
        self._instance_of[key] = client_instance_id

    def _update_subscriptions(self) -> None:
        if self._generation == self._image.client_metrics_generation:
            return
        self._generation = self._image.client_metrics_generation
        self._subscriptions = []
        for (kind, name), configs in self._image.configs.items():
            if kind != CLIENT_METRICS_RESOURCE:
                continue
            try:
                self._subscriptions.append(Subscription.of(configs))
            except InvalidConfigError as error:
                # Brokers of other versions take patterns that this one does not.
                log.warning("Ignored the subscription %s to client metrics: %s", name, error)
