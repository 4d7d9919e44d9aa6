"""The keyword arguments of the clients' constructors, for editors and type checkers.

Each class repeats the names of its table with the types that may be *given*; a test holds them to
the table. ``bootstrap_servers`` is missing because it is the first argument.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypedDict

from pyk.clients.config.security_values import PathLike
from pyk.clients.payload import Deserializer, Serializer
from pyk.clients.security.exchange import Credentials
from pyk.clients.security.proxies import Proxy
from pyk.runtime.secret import Secret


class ClientOptions(TypedDict, total=False):
    """Options of every client."""

    client_dns_lookup: Literal["use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"]
    proxy: str | Secret | Proxy | None
    client_id: str
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
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
    auth: Credentials | None
    sasl_mechanism: (
        Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI", "AWS_MSK_IAM"]
        | None
    )
    sasl_username: str | None
    sasl_password: str | Secret | None
    sasl_jaas_config: str | Secret | None
    sasl_kerberos_service_name: str | None
    sasl_login_callback_handler_class: str | None
    sasl_oauthbearer_jwt_retriever_class: str | None
    sasl_oauthbearer_token_endpoint_url: str | None
    sasl_oauthbearer_client_credentials_client_id: str | None
    sasl_oauthbearer_client_credentials_client_secret: str | Secret | None
    sasl_oauthbearer_scope: str | None
    sasl_oauthbearer_header_urlencode: bool
    sasl_oauthbearer_assertion_file: str | PathLike | None
    sasl_oauthbearer_assertion_private_key_file: str | PathLike | None
    sasl_oauthbearer_assertion_private_key_passphrase: str | Secret | None
    sasl_oauthbearer_assertion_algorithm: Literal["RS256", "ES256"]
    sasl_oauthbearer_assertion_claim_iss: str | None
    sasl_oauthbearer_assertion_claim_sub: str | None
    sasl_oauthbearer_assertion_claim_aud: str | None
    sasl_oauthbearer_assertion_claim_exp_seconds: int
    sasl_oauthbearer_assertion_claim_nbf_seconds: int
    sasl_oauthbearer_assertion_claim_jti_include: bool
    sasl_oauthbearer_assertion_template_file: str | PathLike | None
    sasl_oauthbearer_allow_http_on_loopback: bool
    sasl_login_connect_timeout_ms: int | None
    sasl_login_read_timeout_ms: int | None
    sasl_login_retry_backoff_ms: int
    sasl_login_retry_backoff_max_ms: int
    sasl_login_refresh_window_factor: float
    sasl_login_refresh_window_jitter: float
    sasl_login_refresh_min_period_seconds: int
    sasl_login_refresh_buffer_seconds: int
    ssl_context: Any
    ssl_cafile: str | PathLike | None
    ssl_truststore_certificates: str | None
    ssl_truststore_password: str | Secret | None
    ssl_certfile: str | PathLike | None
    ssl_keyfile: str | PathLike | None
    ssl_keystore_certificate_chain: str | None
    ssl_keystore_key: str | Secret | Callable[[], str] | None
    ssl_keystore_password: str | Secret | None
    ssl_key_password: str | Secret | Callable[[], str] | None
    ssl_crlfile: str | PathLike | None
    ssl_endpoint_identification_algorithm: Literal["https", ""]
    ssl_enabled_protocols: str | Sequence[str]
    ssl_cipher_suites: str | Sequence[str] | None


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
    group_protocol: Literal["classic", "consumer"]
    group_remote_assignor: str | None
    partition_assignment_strategy: str | Sequence[str]
    auto_offset_reset: str
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


class ShareConsumerOptions(ClientOptions, total=False):
    """Options of :class:`~pyk.clients.ShareConsumer`."""

    default_api_timeout_ms: int
    group_id: str | None
    share_acknowledgement_mode: Literal["implicit", "explicit"]
    share_acquire_mode: Literal["batch_optimized", "record_limit"]
    max_poll_records: int
    max_poll_interval_ms: int
    fetch_min_bytes: int
    fetch_max_wait_ms: int
    fetch_max_bytes: int
    max_decompressed_bytes: int
    client_rack: str | None
    check_crcs: Literal[True]
    allow_auto_create_topics: bool
    key_deserializer: Deserializer | Callable[[bytes], Any] | None
    value_deserializer: Deserializer | Callable[[bytes], Any] | None
