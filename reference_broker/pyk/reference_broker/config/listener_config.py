"""The broker configurations of TLS and SASL, which each listener may have of its own.

``listener.name.NAME.CONFIG`` counts for one listener, ``CONFIG`` for all others;
``listener.name.NAME.MECHANISM.sasl.jaas.config`` for one mechanism of it.
"""

from __future__ import annotations

from pyk.reference_broker.config.definition import (
    UpdateMode,
    integer,
    long,
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
