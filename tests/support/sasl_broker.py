"""The broker's side of SASL for scripted clusters, and a record of who logged in when."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import attrs

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from pyk.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from pyk.protocol.sasl import (
    ClientFinal,
    ClientFirst,
    OAuthBearerResponse,
    PlainToken,
    ScramCredential,
    ScramMechanism,
    ScramProofError,
    ServerFirst,
    auth_message,
    salted_password,
)
from support.scripted_broker import Answer, ScriptedCluster

SALT = b"salted"
SCRAM = [one.value for one in ScramMechanism]


@attrs.define
class SaslBroker:
    """Lets ``users`` log in, by name and password; :meth:`serve` adds it to a cluster."""

    users: dict[str, str]
    mechanisms: list[str] = attrs.Factory(lambda: ["PLAIN", *SCRAM])
    iterations: int = 4096
    session_lifetime_ms: int = 0
    refusal: str = "Authentication failed"
    logins: list[str] = attrs.Factory(list)
    refusals: int = 0
    answers: Callable[[SaslAuthenticateRequest], Answer] | None = None
    """What to answer to a token instead."""
    _mechanism: str = ""
    _exchanges: dict[str, tuple[ClientFirst, ServerFirst]] = attrs.Factory(dict)

    def serve(self, cluster: ScriptedCluster) -> None:
        cluster.on(SaslHandshakeRequest, self.handshake)
        cluster.on(SaslAuthenticateRequest, self.authenticate)

    def handshake(self, request: SaslHandshakeRequest) -> SaslHandshakeResponse:
        self._mechanism = request.mechanism
        is_known = request.mechanism in self.mechanisms
        code = ErrorCode.NONE if is_known else ErrorCode.UNSUPPORTED_SASL_MECHANISM
        return SaslHandshakeResponse(error_code=code, mechanisms=self.mechanisms)

    def authenticate(self, request: SaslAuthenticateRequest) -> Answer:
        if self.answers is not None:
            return self.answers(request)
        token = request.auth_bytes
        if self._mechanism == "PLAIN":
            plain = PlainToken.decode(token)
            is_right = self.users.get(plain.username) == plain.password
            return self._accept(plain.username, b"") if is_right else self._refuse()
        if self._mechanism == "OAUTHBEARER":
            is_right = OAuthBearerResponse.decode(token).token in self.users.values()
            return self._accept("a token", b"") if is_right else self._refuse()
        if token.startswith(b"n,"):
            return self._challenge(ClientFirst.decode(token))
        return self._verify(token)

    def _challenge(self, first: ClientFirst) -> Answer:
        nonce = first.nonce + hashlib.sha256(first.nonce.encode()).hexdigest()
        second = ServerFirst(nonce=nonce, salt=SALT, iterations=self.iterations)
        self._exchanges[nonce] = (first, second)
        return SaslAuthenticateResponse(auth_bytes=second.encode())

    def _verify(self, token: bytes) -> Answer:
        nonce = token.split(b",")[1][2:].decode()
        first, second = self._exchanges.pop(nonce)
        third = ClientFinal.decode(token, first, second)
        mechanism = ScramMechanism(self._mechanism)
        password = self.users.get(first.username, "nobody's")
        salted = salted_password(mechanism, password, SALT, second.iterations)
        credential = ScramCredential.from_salted_password(
            mechanism, salted, SALT, second.iterations
        )
        message = auth_message(first, second, third)
        try:
            credential.verify_client(message, third)
        except ScramProofError:
            return self._refuse()
        return self._accept(first.username, credential.sign(message).encode())

    def _accept(self, username: str, token: bytes) -> SaslAuthenticateResponse:
        self.logins.append(username)
        return SaslAuthenticateResponse(
            auth_bytes=token, session_lifetime_ms=self.session_lifetime_ms
        )

    def _refuse(self) -> SaslAuthenticateResponse:
        self.refusals += 1
        code = ErrorCode.SASL_AUTHENTICATION_FAILED
        return SaslAuthenticateResponse(error_code=code, error_message=self.refusal)
