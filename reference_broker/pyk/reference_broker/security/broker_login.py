"""How a broker logs in to another one: the client's side of PLAIN and SCRAM. Pure.

A login is a generator: it yields requests, and is sent the responses. It returns how long the login
holds in ms, 0 for no limit.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from pyk.protocol.messages.sasl_handshake import SaslHandshakeRequest
from pyk.protocol.sasl import (
    ClientFirst,
    PlainToken,
    SaslTokenError,
    ScramMechanism,
    ServerFinal,
    ServerFirst,
    auth_message,
    prove,
    salted_password,
    verify_server,
)
from pyk.reference_broker.config.errors import InvalidConfigError

if TYPE_CHECKING:
    from pyk.reference_broker.broker_configs import BrokerConfigs

BrokerLogin = Generator[SaslHandshakeRequest | SaslAuthenticateRequest, Any, int]
Exchange = Generator[SaslAuthenticateRequest, Any, int]
MODULES = {
    "PLAIN": "PlainLoginModule",
    "SCRAM-SHA-256": "ScramLoginModule",
    "SCRAM-SHA-512": "ScramLoginModule",
}


class BrokerLoginError(Exception):
    """The other broker refused the login."""


def broker_login(configs: BrokerConfigs, listener: str, nonce: str) -> BrokerLogin:
    """Return the login of a broker over a listener; raise ``InvalidConfigError`` if it has none."""
    option = "sasl.mechanism.inter.broker.protocol"
    mechanism = configs.listener(listener).sasl_mechanism_inter_broker_protocol
    if mechanism not in MODULES:
        text = f"{option}: {mechanism} is not served; use one of {', '.join(MODULES)}"
        raise InvalidConfigError(text, name=option)
    options = configs.jaas_options(listener, mechanism, MODULES[mechanism])
    if not options.get("username") or not options.get("password"):
        name = f"listener.name.{listener.lower()}.{mechanism.lower()}.sasl.jaas.config"
        text = f"{name}: brokers need username and password to log in to each other"
        raise InvalidConfigError(text, name=name)
    return _log_in(mechanism, options["username"], options["password"], nonce)


def _log_in(mechanism: str, username: str, password: str, nonce: str) -> BrokerLogin:
    response = yield SaslHandshakeRequest(mechanism=mechanism)
    if response.error_code:
        raise BrokerLoginError(ErrorCode(response.error_code).name)
    if mechanism == "PLAIN":
        response = yield SaslAuthenticateRequest(auth_bytes=PlainToken(username, password).encode())
        return _lifetime_ms(response)
    try:
        return (yield from _scram(ScramMechanism(mechanism), username, password, nonce))
    except SaslTokenError as error:
        raise BrokerLoginError(str(error)) from None


def _scram(mechanism: ScramMechanism, username: str, password: str, nonce: str) -> Exchange:
    first = ClientFirst(username=username, nonce=nonce)
    response = yield SaslAuthenticateRequest(auth_bytes=first.encode())
    _lifetime_ms(response)
    answer = ServerFirst.decode(response.auth_bytes, first)
    salted = salted_password(mechanism, password, answer.salt, answer.iterations)
    final = prove(mechanism, salted, first, answer)
    response = yield SaslAuthenticateRequest(auth_bytes=final.encode())
    lifetime_ms = _lifetime_ms(response)
    message = auth_message(first, answer, final)
    verify_server(mechanism, salted, message, ServerFinal.decode(response.auth_bytes))
    return lifetime_ms


def _lifetime_ms(response: Any) -> int:
    if response.error_code:
        raise BrokerLoginError(response.error_message or ErrorCode(response.error_code).name)
    lifetime_ms: int = response.session_lifetime_ms
    return lifetime_ms
