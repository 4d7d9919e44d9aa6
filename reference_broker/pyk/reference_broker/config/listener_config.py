"""The broker configurations of TLS and SASL, which each listener may have of its own.

``listener.name.NAME.CONFIG`` counts for one listener, ``CONFIG`` for all others;
``listener.name.NAME.MECHANISM.sasl.jaas.config`` for one mechanism of it.
"""

from __future__ import annotations

from pyk.reference_broker.config.definition import (
    Password,
    UpdateMode,
    class_name,
    integer,
    long,
    password,
    string,
    strings,
)
from pyk.runtime import slotted

_DYNAMIC = UpdateMode.PER_BROKER


@slotted.frozen(kw_only=True)
class ListenerConfig:
    """The effective configuration of one listener."""

    connection_failed_authentication_delay_ms: int = integer(
        100,
        minimum=0,
        doc="How long the answer to a failed login is delayed, in milliseconds.",
    )
    connections_max_reauth_ms: int = long(
        0, doc="How long a login by SASL holds, in milliseconds; 0 for no limit."
    )
    max_connections: int = integer(
        (1 << 31) - 1,
        minimum=0,
        update_mode=UpdateMode.CLUSTER_WIDE,
        doc="How many connections the broker accepts at the same time; a listener may have its own "
        "limit.",
    )
    max_connection_creation_rate: int = integer(
        (1 << 31) - 1,
        minimum=0,
        update_mode=UpdateMode.CLUSTER_WIDE,
        doc="How many connections the broker accepts a second; a listener may have its own limit.",
    )
    sasl_enabled_mechanisms: tuple[str, ...] = strings(
        "GSSAPI", update_mode=_DYNAMIC, doc="The mechanisms by which clients may log in."
    )
    sasl_mechanism_inter_broker_protocol: str = string(
        "GSSAPI", update_mode=_DYNAMIC, doc="The mechanism by which brokers log in to each other."
    )
    sasl_oauthbearer_clock_skew_seconds: int = integer(
        30, minimum=0, doc="How far the clocks of the broker and the identity provider may differ."
    )
    sasl_oauthbearer_expected_audience: tuple[str, ...] = strings(
        doc="What tokens must be for, one of these; without any, tokens for something are refused."
    )
    sasl_oauthbearer_expected_issuer: str | None = string(None, doc="Who must have issued tokens.")
    sasl_oauthbearer_jwks_endpoint_refresh_ms: int = long(
        3_600_000, minimum=0, doc="How often the keys that sign tokens are fetched."
    )
    sasl_oauthbearer_jwks_endpoint_retry_backoff_max_ms: int = long(
        10_000, minimum=0, doc="The longest wait until keys are fetched again after a failure."
    )
    sasl_oauthbearer_jwks_endpoint_retry_backoff_ms: int = long(
        100, minimum=0, doc="The wait until keys are fetched again after a failure; it doubles."
    )
    sasl_oauthbearer_jwks_endpoint_url: str | None = string(
        None,
        doc="Where the keys are that sign tokens: https: or file:. Without it, tokens are not "
        "signed and prove nothing.",
    )
    sasl_oauthbearer_scope_claim_name: str = string(
        "scope", doc="The claim of a token that has its scope."
    )
    sasl_oauthbearer_sub_claim_name: str = string(
        "sub", doc="The claim of a token that names the principal."
    )
    sasl_server_callback_handler_class: str | None = class_name(
        doc="How tokens are validated: OAuthBearerValidatorCallbackHandler of Kafka needs "
        "sasl.oauthbearer.jwks.endpoint.url."
    )
    sasl_server_max_receive_size: int = integer(
        524_288, doc="The largest request that is accepted before a login."
    )

    # TLS

    ssl_cipher_suites: tuple[str, ...] = strings(
        update_mode=_DYNAMIC, doc="The cipher suites of TLS 1.2, under the names of OpenSSL."
    )
    ssl_client_auth: str = string(
        "none",
        choices=("none", "requested", "required"),
        update_mode=_DYNAMIC,
        doc="Whether clients are asked for a certificate, and must have one.",
    )
    ssl_enabled_protocols: tuple[str, ...] = strings(
        "TLSv1.2",
        "TLSv1.3",
        choices=("TLSv1.2", "TLSv1.3"),
        update_mode=_DYNAMIC,
        doc="The versions of TLS.",
    )
    ssl_endpoint_identification_algorithm: str = string(
        "https",
        choices=("https", ""),
        update_mode=_DYNAMIC,
        doc="Whether brokers check the host names of each other; empty if not.",
    )
    ssl_key_password: Password | None = password(doc="The password of the key.")
    ssl_keystore_certificate_chain: Password | None = password(
        doc="The certificate of the broker and those that issued it, in PEM."
    )
    ssl_keystore_key: Password | None = password(doc="The key of the broker, in PEM.")
    ssl_keystore_location: str | None = string(
        None, update_mode=_DYNAMIC, doc="A file with certificate and key, in PEM or PKCS12."
    )
    ssl_keystore_password: Password | None = password(
        doc="The password of the file, if it is PKCS12."
    )
    ssl_principal_mapping_rules: str = string(
        "DEFAULT", doc="How the name in a client's certificate becomes its principal."
    )
    ssl_truststore_certificates: Password | None = password(
        doc="Certificates of authorities that are trusted, in PEM."
    )
    ssl_truststore_location: str | None = string(
        None, update_mode=_DYNAMIC, doc="A file with such certificates, in PEM or PKCS12."
    )
    ssl_truststore_password: Password | None = password(
        doc="The password of the file, if it is PKCS12."
    )
