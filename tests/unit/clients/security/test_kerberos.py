"""Logins with a ticket of Kerberos, against the interface of the package gssapi."""

from __future__ import annotations

import enum
import sys
import types
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from pyk.clients.errors import ConfigurationError, SaslAuthenticationFailedError
from pyk.clients.security import Kerberos
from pyk.clients.security.exchange import CredentialsError, Work
from pyk.clients.security.login import log_in
from pyk.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from pyk.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

HOST = "broker1.example"
ALL_LAYERS = b"\x07\x00\xff\xff"


class GSSError(Exception):
    min_code = 0


class OldTicketError(GSSError):
    min_code = -1765328352


class ExpiredCredentialsError(GSSError):
    pass


class MissingCredentialsError(GSSError):
    pass


class Flag(enum.IntFlag):
    mutual_authentication = 2
    integrity = 32


@attrs.define
class FakeGssapi:
    """The parts of gssapi that are used. ``answers`` are what a context says in each step."""

    answers: list[bytes | None] = attrs.Factory(lambda: [b"ticket", None])
    failure: Exception | None = None
    heard: list[bytes | None] = attrs.Factory(list)
    contexts: list[dict[str, Any]] = attrs.Factory(list)
    tickets: list[dict[str, Any]] = attrs.Factory(list)

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        module, errors = types.ModuleType("gssapi"), types.ModuleType("gssapi.exceptions")
        vars(errors).update(
            GSSError=GSSError,
            ExpiredCredentialsError=ExpiredCredentialsError,
            MissingCredentialsError=MissingCredentialsError,
        )
        vars(module).update(
            Name=lambda text, name_type: (text, name_type),
            NameType=types.SimpleNamespace(hostbased_service="host", kerberos_principal="user"),
            MechType=types.SimpleNamespace(kerberos="krb5"),
            RequirementFlag=Flag,
            Credentials=self.new_tickets,
            SecurityContext=self.new_context,
        )
        monkeypatch.setitem(sys.modules, "gssapi", module)
        monkeypatch.setitem(sys.modules, "gssapi.exceptions", errors)

    def new_tickets(self, **arguments: Any) -> str:
        self.tickets.append(arguments)
        return "tickets"

    def new_context(self, **arguments: Any) -> FakeContext:
        self.contexts.append(arguments)
        return FakeContext(self)


@attrs.define
class FakeContext:
    library: FakeGssapi
    initiator_name: str = "alice@EXAMPLE"

    @property
    def complete(self) -> bool:
        return not self.library.answers

    def step(self, token: bytes | None) -> bytes | None:
        self.library.heard.append(token)
        if self.library.failure is not None:
            raise self.library.failure
        return self.library.answers.pop(0)

    def wrap(self, message: bytes, encrypt: bool) -> Any:
        assert not encrypt
        return types.SimpleNamespace(message=b"wrapped " + message)

    def unwrap(self, message: bytes) -> Any:
        if not message.startswith(b"wrapped "):
            raise GSSError("a token was invalid")
        return types.SimpleNamespace(message=message.removeprefix(b"wrapped "))


def sent(kerberos: Kerberos, *answers: bytes) -> list[bytes]:
    """Return the tokens of a login to a broker that answers so."""
    login, tokens, left = log_in(kerberos, "nonce", f"{HOST}:9092", HOST), [], list(answers)
    step: Any = next(login)
    try:
        while True:
            if isinstance(step, Work):
                assert step.is_long
                try:
                    outcome: Any = step.function()
                except CredentialsError as error:
                    step = login.throw(error)
                    continue
            elif isinstance(step, SaslHandshakeRequest):
                assert step.mechanism == "GSSAPI"
                outcome = SaslHandshakeResponse()
            else:
                tokens.append(step.auth_bytes)
                outcome = SaslAuthenticateResponse(auth_bytes=left.pop(0))
            step = login.send(outcome)
    except StopIteration:
        return tokens


@pytest.fixture
def gssapi(monkeypatch: pytest.MonkeyPatch) -> FakeGssapi:
    found = FakeGssapi()
    found.install(monkeypatch)
    return found


def test_a_ticket_for_the_broker_is_exchanged_and_no_layer_is_chosen(gssapi: FakeGssapi) -> None:
    tokens = sent(Kerberos(), b"proof", b"wrapped " + ALL_LAYERS, b"")

    assert tokens == [b"ticket", b"", b"wrapped \x01\x00\x00\x00alice@EXAMPLE"]
    assert gssapi.heard == [None, b"proof"]
    assert gssapi.contexts == [
        {
            "name": (f"kafka@{HOST}", "host"),
            "creds": None,
            "mech": "krb5",
            "flags": Flag.mutual_authentication | Flag.integrity,
            "usage": "initiate",
        }
    ]


def test_the_ticket_is_there_before_the_connection_is_held_up(gssapi: FakeGssapi) -> None:
    login = log_in(Kerberos(), "nonce", HOST, HOST)

    first = next(login)
    assert isinstance(first, Work)
    second = login.send(first.function())
    assert isinstance(second, Work)
    assert isinstance(login.send(second.function()), SaslHandshakeRequest)


def test_a_principal_and_a_keytab_choose_the_ticket(gssapi: FakeGssapi) -> None:
    kerberos = Kerberos(service_name="stream", principal="bob@EXAMPLE", keytab="/etc/bob.keytab")

    sent(kerberos, b"proof", b"wrapped " + ALL_LAYERS, b"")

    assert gssapi.contexts[0]["name"] == (f"stream@{HOST}", "host")
    assert gssapi.contexts[0]["creds"] == "tickets"
    (tickets,) = gssapi.tickets
    cache = tickets["store"].pop("ccache")
    assert tickets == {
        "name": ("bob@EXAMPLE", "user"),
        "usage": "initiate",
        "store": {"client_keytab": "/etc/bob.keytab"},
    }
    # The cache of the user may have tickets of another principal, which the library then refuses.
    assert cache.startswith("MEMORY:pyk-")


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ([b"proof", b"wrapped \x06\x00\xff\xff"], "demands that Kerberos encrypts"),
        ([b"proof", b"wrapped "], "does not end the login as RFC 4752"),
        ([b"proof", b"wrapped \x01\x00\x00\x00more"], "does not end the login as RFC 4752"),
        ([b"proof", b"not wrapped"], "a token was invalid"),
    ],
)
def test_a_broker_that_ends_otherwise_is_refused(
    answers: list[bytes], words: str, gssapi: FakeGssapi
) -> None:
    with pytest.raises(SaslAuthenticationFailedError, match=words):
        sent(Kerberos(), *answers)


def test_a_broker_that_never_ends_is_given_up(gssapi: FakeGssapi) -> None:
    gssapi.answers = [b"more"] * 100

    with pytest.raises(SaslAuthenticationFailedError, match="goes on after 10 steps"):
        sent(Kerberos(), *[b"and more"] * 100)


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (ExpiredCredentialsError, "has expired: run kinit"),
        (OldTicketError, "has expired: run kinit"),
        (MissingCredentialsError, "there is no ticket of Kerberos: run kinit"),
        (GSSError, r"Kerberos: Server not found; klist shows"),
    ],
)
def test_what_the_library_says_comes_with_what_to_do(
    failure: Callable[[str], Exception], words: str, gssapi: FakeGssapi
) -> None:
    gssapi.failure = failure("Server\nnot found")

    with pytest.raises(SaslAuthenticationFailedError, match=words) as caught:
        sent(Kerberos(principal="alice@EXAMPLE"))

    assert "as 'alice@EXAMPLE' with GSSAPI" in str(caught.value)


def test_a_keytab_without_a_key_is_named(gssapi: FakeGssapi) -> None:
    gssapi.failure = MissingCredentialsError("No key")

    with pytest.raises(SaslAuthenticationFailedError, match=r"keytab '/none' gives no ticket"):
        sent(Kerberos(keytab="/none"))


def test_without_the_library_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gssapi", None)

    with pytest.raises(SaslAuthenticationFailedError, match=r"install pyk-kafka\[kerberos\]"):
        sent(Kerberos())


@pytest.mark.parametrize("name", ["", "kafka/host", "kafka@REALM", "kaf ka", "kafka\n"])
def test_a_service_is_named_without_its_host(name: str) -> None:
    with pytest.raises(ConfigurationError, match="first part of the brokers' principal"):
        Kerberos(service_name=name)
