"""The table of the producer's options."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from pyk.clients.config.client_config import ClientConfig, Given
from pyk.clients.config.option import option
from pyk.clients.config.values import (
    INT64_MAX,
    Acks,
    Boolean,
    Callback,
    Integer,
    OneOf,
    OptionalInteger,
    OptionalText,
)
from pyk.clients.errors import ConfigurationError
from pyk.clients.payload import Serializer
from pyk.runtime import slotted

log = logging.getLogger(__name__)

ALL = -1
COMPRESSION_LEVELS = {
    # Kafka's ranges (KIP-390), and what the codecs take beside them: -1 of gzip is its default.
    "gzip": range(-1, 10),
    "lz4": range(-65_537, 18),
    "zstd": range(-131_072, 23),
}
MAX_IN_FLIGHT_FOR_IDEMPOTENCE = 5


@slotted.frozen(kw_only=True)
class ProducerConfig(ClientConfig):
    """The options of :class:`~pyk.clients.Producer`."""

    acks: int = option(
        Acks(), ALL, "How many replicas must have a batch before it is acknowledged; -1 is all."
    )
    enable_idempotence: bool = option(
        Boolean(),
        True,
        "Let brokers drop batches that they have already: no duplicates, no reordering.",
    )
    linger_ms: int = option(
        Integer(maximum=INT64_MAX), 5, "How long a batch waits for more records before it is sent."
    )
    batch_size: int = option(
        Integer(), 16_384, "How many bytes of records go into one batch; 0 sends each by itself."
    )
    buffer_memory: int = option(
        Integer(maximum=INT64_MAX),
        32 * 1024 * 1024,
        "How many bytes of records may wait for delivery before ``send`` waits for room.",
    )
    max_block_ms: int = option(
        Integer(maximum=INT64_MAX),
        60_000,
        "How long ``send`` may wait for room and for metadata; never beyond delivery_timeout_ms.",
    )
    max_request_size: int = option(
        Integer(), 1024 * 1024, "The largest record, and the largest request, in bytes."
    )
    compression_type: str = option(
        OneOf(("none", "gzip", "snappy", "lz4", "zstd")), "none", "How batches are compressed."
    )
    compression_level: int | None = option(
        OptionalInteger(minimum=-131_072),
        None,
        "The level of the codec: gzip 1 to 9, lz4 1 to 17, zstd 1 to 22; None for its default.",
    )
    delivery_timeout_ms: int = option(
        Integer(), 120_000, "How long a record may take from ``send`` until its outcome is known."
    )
    max_in_flight_requests_per_connection: int = option(
        Integer(minimum=1), 5, "How many requests may be in flight on one connection."
    )
    transactional_id: str | None = option(
        OptionalText(),
        None,
        "The name under which transactions are written; a later producer of the same name takes "
        "over.",
    )
    transaction_timeout_ms: int = option(
        Integer(minimum=1),
        60_000,
        "How long a transaction may stay open before brokers abort it.",
    )
    transaction_two_phase_commit_enable: bool = option(
        Boolean(),
        False,
        "Let a prepared transaction stay open until it is completed, however long (KIP-939).",
    )
    metadata_max_idle_ms: int = option(
        Integer(minimum=5_000, maximum=INT64_MAX),
        300_000,
        "Forget the metadata of a topic after this long without a record for it.",
    )
    partitioner: Callable[..., int] | None = option(
        Callback(instead="leave it out to choose partitions as Java's client does, by murmur2"),
        None,
        "Chooses partitions; None hashes keys as Kafka does, and fills batches if there is no key.",
    )
    key_serializer: Serializer | Callable[[Any], bytes | str | None] | None = option(
        Callback("serialize"), None, "Encodes keys; None accepts bytes, and str as UTF-8."
    )
    value_serializer: Serializer | Callable[[Any], bytes | str | None] | None = option(
        Callback("serialize"),
        None,
        "Encodes values; None accepts bytes, and str as UTF-8.",
    )

    @classmethod
    def _translated(cls, given: list[Given]) -> list[Given]:
        """Take Kafka's level of the chosen codec (KIP-390) for ``compression_level``."""
        given = super()._translated(given)
        names = {one.name: one for one in given}
        codec = names.get("compression_type")
        level = names.get(f"compression_{str(codec and codec.value).strip().lower()}_level")
        if level is None or "compression_level" in names:
            return given
        is_default = level.name == "compression_gzip_level" and str(level.value).strip() == "-1"
        taken = slotted.evolve(
            level, name="compression_level", value=None if is_default else level.value
        )
        return [taken if one is level else one for one in given]

    @classmethod
    def _completed(cls, given: dict[str, Any]) -> dict[str, Any]:
        completed = super()._completed(given)
        if given.get("transaction_two_phase_commit_enable") and "transaction_timeout_ms" in given:
            raise ConfigurationError(
                "transaction_timeout_ms cannot be given with transaction_two_phase_commit_enable: "
                "a prepared transaction then has no timeout (KIP-939)"
            )
        # As in Kafka: fewer acknowledgements switch idempotence off, unless it was asked for.
        if given.get("acks", ALL) != ALL:
            completed.setdefault("enable_idempotence", False)
        if "delivery_timeout_ms" not in given:
            defaults = cls.options()
            needed = sum(
                given.get(name, defaults[name].default)
                for name in ("linger_ms", "request_timeout_ms")
            )
            completed["delivery_timeout_ms"] = max(needed, defaults["delivery_timeout_ms"].default)
        return completed

    def _warn(self, given: Mapping[str, object], unused: list[tuple[str, str]]) -> None:
        super()._warn(given, unused)
        if self.acks != ALL and "enable_idempotence" not in given:
            log.warning(
                "%s: acks=%d switches idempotence off: retries may duplicate and reorder records; "
                "give enable_idempotence=False if that is intended",
                self._client_name(),
                self.acks,
            )

    def _check(self) -> None:
        super()._check()
        self._check_compression_level()
        self._check_transactions()
        if self.enable_idempotence and self.acks != ALL:
            raise ConfigurationError(
                f"enable_idempotence needs acks='all', not {self.acks}: otherwise a leader "
                "that fails loses what it knew of the producer"
            )
        in_flight = self.max_in_flight_requests_per_connection
        if self.enable_idempotence and in_flight > MAX_IN_FLIGHT_FOR_IDEMPOTENCE:
            raise ConfigurationError(
                f"max_in_flight_requests_per_connection={in_flight} is too many for "
                "enable_idempotence: brokers remember 5 batches of a producer"
            )
        if self.delivery_timeout_ms < self.linger_ms + self.request_timeout_ms:
            raise ConfigurationError(
                f"delivery_timeout_ms={self.delivery_timeout_ms} is less than linger_ms + "
                f"request_timeout_ms = {self.linger_ms + self.request_timeout_ms}: "
                "a record would expire before one request could end"
            )

    def _check_transactions(self) -> None:
        has_two_phases = self.transaction_two_phase_commit_enable
        if self.transactional_id is None:
            if has_two_phases:
                raise ConfigurationError(
                    "transaction_two_phase_commit_enable needs a transactional_id"
                )
            return
        if self.acks != ALL:
            raise ConfigurationError(
                f"transactional_id needs acks='all', not {self.acks}: otherwise a leader that "
                "fails loses a part of a transaction"
            )
        if not self.enable_idempotence:
            raise ConfigurationError(
                "transactional_id needs enable_idempotence: without it, brokers accept a part of "
                "a transaction twice"
            )

    def _check_compression_level(self) -> None:
        levels = COMPRESSION_LEVELS.get(self.compression_type)
        level = self.compression_level
        if level is None or levels is None:
            return  # none and snappy have no levels
        if level not in levels:
            raise ConfigurationError(
                f"compression_level={level} is out of range for "
                f"compression_type={self.compression_type!r}: {levels[0]} to {levels[-1]}"
            )
