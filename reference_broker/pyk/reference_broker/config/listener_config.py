"""The broker configurations of TLS and SASL, which each listener may have of its own.

``listener.name.NAME.CONFIG`` counts for one listener, ``CONFIG`` for all others;
``listener.name.NAME.MECHANISM.sasl.jaas.config`` for one mechanism of it.
"""

from __future__ import annotations

from pyk.reference_broker.config.definition import (
    Password,
    UpdateMode,
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
    sasl_enabled_mechanisms: tuple[str, ...] = strings(
        "GSSAPI", update_mode=_DYNAMIC, doc="The mechanisms by which clients may log in."
    )
    sasl_mechanism_inter_broker_protocol: str = string(
        "GSSAPI", update_mode=_DYNAMIC, doc="The mechanism by which brokers log in to each other."
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
