"""The keyword arguments of the clients' constructors, for editors and type checkers.

Each class repeats the names of its table with the types that may be *given*; a test holds them to
the table. ``bootstrap_servers`` is missing because it is the first argument.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypedDict

from pyk.clients.payload import Deserializer, Serializer


class ClientOptions(TypedDict, total=False):
    """Options of every client."""

    client_id: str
    security_protocol: Literal["PLAINTEXT"]
    request_timeout_ms: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int
    reconnect_backoff_ms: int
    reconnect_backoff_max_ms: int
    socket_connection_setup_timeout_ms: int
    socket_connection_setup_timeout_max_ms: int
    connections_max_idle_ms: int
    metadata_max_age_ms: int
    metadata_recovery_strategy: Literal["rebootstrap", "none"]
    metadata_recovery_rebootstrap_trigger_ms: int
    max_response_bytes: int


class AdminOptions(ClientOptions, total=False):
    """Options of :class:`~pyk.clients.Admin`."""

    default_api_timeout_ms: int


class ProducerOptions(ClientOptions, total=False):
    """Options of :class:`~pyk.clients.Producer`."""

    acks: Literal["all", -1, 0, 1, "-1", "0", "1"]
    enable_idempotence: bool
    linger_ms: int
    batch_size: int
    buffer_memory: int
    max_block_ms: int
    max_request_size: int
    compression_type: Literal["none", "gzip", "snappy", "lz4", "zstd"]
    compression_level: int | None
    delivery_timeout_ms: int
    max_in_flight_requests_per_connection: int
    transactional_id: str | None
    transaction_timeout_ms: int
    transaction_two_phase_commit_enable: bool
    metadata_max_idle_ms: int
    partitioner: Callable[..., int] | None
    key_serializer: Serializer | Callable[[Any], bytes | str | None] | None
    value_serializer: Serializer | Callable[[Any], bytes | str | None] | None


class ConsumerOptions(ClientOptions, total=False):
    """Options of :class:`~pyk.clients.Consumer`."""

    default_api_timeout_ms: int
    group_id: str | None
    group_instance_id: str | None
    group_protocol: Literal["classic"]
    partition_assignment_strategy: str | Sequence[str]
    auto_offset_reset: Literal["latest", "earliest", "none"]
    enable_auto_commit: bool
    auto_commit_interval_ms: int
    max_poll_records: int
    max_poll_interval_ms: int
    session_timeout_ms: int
    heartbeat_interval_ms: int
    fetch_min_bytes: int
    fetch_max_wait_ms: int
    fetch_max_bytes: int
    max_partition_fetch_bytes: int
    buffer_memory: int
    max_decompressed_bytes: int
    isolation_level: Literal["read_uncommitted", "read_committed"]
    client_rack: str | None
    check_crcs: Literal[True]
    allow_auto_create_topics: bool
    exclude_internal_topics: bool
    key_deserializer: Deserializer | Callable[[bytes], Any] | None
    value_deserializer: Deserializer | Callable[[bytes], Any] | None
