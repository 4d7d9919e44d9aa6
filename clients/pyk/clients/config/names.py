"""Suggest the option that a user meant by an unknown name. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pyk.clients.config.kafka_names import WITHOUT_EFFECT

# What librdkafka, kafka-python and aiokafka call these options.
ALIASES = {
    "auto_commit_enable": "enable_auto_commit",
    "batch_num_messages": "batch_size",
    "compression_codec": "compression_type",
    "fetch_message_max_bytes": "max_partition_fetch_bytes",
    "fetch_wait_max_ms": "fetch_max_wait_ms",
    "group": "group_id",
    "hosts": "bootstrap_servers",
    "max_batch_size": "batch_size",
    "max_in_flight": "max_in_flight_requests_per_connection",
    "message_max_bytes": "max_request_size",
    "message_timeout_ms": "delivery_timeout_ms",
    "metadata_broker_list": "bootstrap_servers",
    "partition_assignors": "partition_assignment_strategy",
    "queue_buffering_max_kbytes": "buffer_memory",
    "queued_max_messages_kbytes": "buffer_memory",
    "queue_buffering_max_ms": "linger_ms",
    "rebalance_timeout_ms": "max_poll_interval_ms",
    "request_required_acks": "acks",
    "sasl_mechanisms": "sasl_mechanism",
    "sasl_oauthbearer_client_id": "sasl_oauthbearer_client_credentials_client_id",
    "sasl_oauthbearer_client_secret": "sasl_oauthbearer_client_credentials_client_secret",
    "servers": "bootstrap_servers",
    "socks5_proxy": "proxy",
    "socket_timeout_ms": "request_timeout_ms",
    "ssl_ca_location": "ssl_cafile",
    "ssl_ca_pem": "ssl_truststore_certificates",
    "ssl_certificate_pem": "ssl_keystore_certificate_chain",
    "ssl_crl_location": "ssl_crlfile",
    "ssl_key_pem": "ssl_keystore_key",
    "ssl_certificate_location": "ssl_certfile",
    "ssl_ciphers": "ssl_cipher_suites",
    "ssl_key_location": "ssl_keyfile",
    "topic_metadata_refresh_interval_ms": "metadata_max_age_ms",
    "value_serialiser": "value_serializer",
}

# Options of those clients that pyk does not need, and what it has instead.
NEEDLESS = {
    "api_version": "pyk asks each broker what it can do",
    "consumer_timeout_ms": "give poll a timeout",
    "debug": "pyk logs with logging, under the name 'pyk'",
    "enable_auto_offset_store": "only what the application has finished is committed; with "
    "enable_auto_commit=False, commit by hand",
    "enable_ssl_certificate_verification": "certificates are always checked",
    "error_cb": "errors are raised by the call that they concern, or logged",
    "loop": "a client lives on the event loop on which it is started",
    "logger": "pyk logs with logging, under the name 'pyk'",
    "message_send_max_retries": "a record is retried until delivery_timeout_ms is over",
    "on_delivery": "it is an argument of send, record by record",
    "oauth_cb": "give auth=Oauth(function)",
    "sasl_oauth_token_provider": "give auth=Oauth(function)",
    "sasl_oauthbearer_config": "give auth=Oauth(function)",
    "sasl_oauthbearer_extensions": "write extension_NAME in sasl_jaas_config",
    "sasl_oauthbearer_method": "a token endpoint is asked where its URL is given",
    "stats_cb": "call stats()",
    "ssl_check_hostname": "give ssl_endpoint_identification_algorithm='' to check no host names",
    "ssl_verify": "certificates are always checked; ssl_cafile has those to trust",
    "ssl_cert_reqs": "certificates are always checked; ssl_cafile has those to trust",
    "statistics_interval_ms": "call stats()",
    "topic": "a consumer takes topics=, send takes a topic",
}

# Names of Kafka that are taken beside the options' own: one may be meant by a misspelled name.
KAFKAS = ("ssl_keystore_location", "ssl_truststore_location")

# What kafka-python and aiokafka call options that this release does not have: "did you mean" would
# not help.
NOT_THERE_YET = ("interceptors",)


def explain_unknown(name: str, known: Collection[str]) -> str:
    """Return the message about a name that is not an option of any client.

    ``known`` are the options of the client that got it.
    """
    plain = name.lower().replace(".", "_").replace("-", "_")
    alias = ALIASES.get(plain)
    if alias is not None and alias in known:
        called = alias.replace("_", ".") if "." in name else alias
        return f"{name!r} is not an option; here it is called {called!r}"
    if plain in NEEDLESS:
        return f"{name!r} is not an option: {NEEDLESS[plain]}"
    import difflib  # only mistakes need it

    near = difflib.get_close_matches(plain, [*known, *KAFKAS, *WITHOUT_EFFECT], n=1, cutoff=0.6)
    if plain.startswith(NOT_THERE_YET) and near[:1] != [plain]:
        return f"{name!r} is an option of other clients that this release of pyk does not have"
    if near:
        meant = near[0].replace("_", ".") if "." in name else near[0]
        return f"{name!r} is not an option; did you mean {meant!r}?"
    return f"{name!r} is not an option"


def jaas_cut_off(name: str) -> str:
    """Return the message about a JAAS configuration that has no end, beside unknown names."""
    return (
        f"{name} has no semicolon at its end: if it goes on in the next line of a file, its lines "
        "must end with a backslash, all but the last"
    )


def explain_dotted(names: Sequence[str]) -> str:
    """Return the message about dotted names that were given as keywords."""
    keywords = ", ".join(name.replace(".", "_") for name in names)
    return (
        f"keywords are written with '_' for '.': {keywords}; dotted names belong in the mapping "
        "or file that from_properties() takes"
    )
