from __future__ import annotations

from base64 import b64decode

import pytest

from pyk.protocol import EncodeError
from pyk.protocol.sasl import (
    TOKEN_AUTHENTICATION,
    ClientFinal,
    ClientFirst,
    MalformedTokenError,
    ScramRefusedError,
    ServerFinal,
    ServerFirst,
    ServerRefusal,
)
from support.scram import ANSWER, CLIENT_FIRST, FIRST, NONCE, SERVER_FIRST, UNPROVEN

# Kafka's ScramMessagesTest takes these in every message.
EXTENSIONS = {
    "ext=val1": {"ext": "val1"},
    "anotherext=name1=value1 name2=another test value \"'!$[]()": {
        "anotherext": "name1=value1 name2=another test value \"'!$[]()"
    },
    "first=val1,second=name1 = value ,third=123": {
        "first": "val1",
        "second": "name1 = value ",
        "third": "123",
    },
}


def test_the_example_exchange_of_rfc_7677_is_decoded_and_encoded() -> None:
    assert ClientFirst(username="user", nonce="rOprNGfwEbeRWgbNEkqO") == CLIENT_FIRST
    assert SERVER_FIRST.nonce == NONCE
    assert SERVER_FIRST.salt == b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    assert SERVER_FIRST.iterations == 4096
    assert CLIENT_FIRST.encode() == FIRST
    assert CLIENT_FIRST.bare == FIRST.removeprefix(b"n,,")
    assert SERVER_FIRST.encode() == ANSWER


# Kafka's ScramFormatterTest.
@pytest.mark.parametrize(
    ("username", "escaped"),
    [
        ("user1", "user1"),
        ("123", "123"),
        ("1,2", "1=2C2"),
        ("user=A", "user=3DA"),
        ("user==B", "user=3D=3DB"),
        ("user 1", "user 1"),
        (",", "=2C"),
        ("=", "=3D"),
        (",=", "=2C=3D"),
        ("=2C", "=3D2C"),
    ],
)
def test_commas_and_equals_signs_of_a_name_are_escaped(username: str, escaped: str) -> None:
    first = ClientFirst(username=username, nonce="abc", authzid=username)
    data = f"n,a={escaped},n={escaped},r=abc".encode()

    assert first.encode() == data
    assert ClientFirst.decode(data) == first
    assert first.gs2_header == f"n,a={escaped},".encode()


@pytest.mark.parametrize("text", EXTENSIONS)
def test_unknown_extensions_are_kept_where_they_were(text: str) -> None:
    final = f"{UNPROVEN.decode()},{text},p=AAAA".encode()
    messages = [
        ClientFirst.decode(FIRST + b"," + text.encode()),
        ServerFirst.decode(ANSWER + b"," + text.encode(), CLIENT_FIRST),
        ClientFinal.decode(final, CLIENT_FIRST, SERVER_FIRST),
        ServerFinal.decode(b"v=AAAA," + text.encode()),
    ]

    assert [message.extensions for message in messages] == [EXTENSIONS[text]] * 4
    assert messages[0].encode() == FIRST + b"," + text.encode()
    assert messages[1].encode() == ANSWER + b"," + text.encode()
    assert messages[2].encode() == final
    assert messages[3].encode() == b"v=AAAA," + text.encode()


def test_a_delegation_token_says_that_it_is_one() -> None:
    first = ClientFirst(username="id", nonce="abc", extensions=TOKEN_AUTHENTICATION)

    assert first.encode() == b"n,,n=id,r=abc,tokenauth=true"
    assert first.is_token_authenticated


@pytest.mark.parametrize(
    ("extension", "is_token"),
    [("", False), (",tokenauth=TRUE", True), (",tokenauth=1", False), (",Tokenauth=true", False)],
)
def test_tokenauth_is_read_as_java_reads_a_boolean(extension: str, is_token: bool) -> None:
    first = ClientFirst.decode(f"n,,n=id,r=abc{extension}".encode())

    assert first.is_token_authenticated is is_token


def test_the_values_of_an_encoded_message_may_change_later() -> None:
    extensions = {"a": "1"} | dict(TOKEN_AUTHENTICATION)
    del extensions["a"]
    first = ClientFirst(username="id", nonce="abc", extensions=extensions)

    extensions["later"] = "2"

    assert first.extensions == TOKEN_AUTHENTICATION


@pytest.mark.parametrize("iterations", [4096, 1_000_000])
def test_iterations_within_the_bounds_are_taken(iterations: int) -> None:
    data = f"r={NONCE},s=c2FsdA==,i={iterations}".encode()

    assert ServerFirst.decode(data, CLIENT_FIRST).iterations == iterations


def test_a_client_may_set_another_bound() -> None:
    data = f"r={NONCE},s=c2FsdA==,i=1000001".encode()

    assert ServerFirst.decode(data, CLIENT_FIRST, max_iterations=2_000_000).iterations == 1_000_001
    with pytest.raises(MalformedTokenError, match="1000001 iterations, more than 50000"):
        ServerFirst.decode(data, CLIENT_FIRST, max_iterations=50_000)


@pytest.mark.parametrize("iterations", [4095, 1 << 31])
def test_a_server_asks_for_a_number_of_iterations_that_is_taken(iterations: int) -> None:
    with pytest.raises(EncodeError, match=f"^{iterations} iterations, not 4096 to"):
        ServerFirst(nonce="ab", salt=b"salt", iterations=iterations)


def test_a_refusal_is_raised_with_the_servers_word_for_it() -> None:
    with pytest.raises(ScramRefusedError, match="refuses the client: 'unknown-user'") as caught:
        ServerFinal.decode(ServerRefusal("unknown-user").encode())

    assert caught.value.error == "unknown-user"


def test_of_a_long_refusal_only_the_beginning_is_shown() -> None:
    with pytest.raises(ScramRefusedError) as caught:
        ServerFinal.decode(b"e=" + b"\n" * 10_000)

    assert len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "values",
    [
        {"username": ""},
        {"username": "j\u00fcrgen"},
        {"username": "us\0er"},
        {"nonce": ""},
        {"nonce": "a,b"},
        {"nonce": "a b"},
        {"nonce": "a\n"},
        {"authzid": "j\u00fcrgen"},
    ],
)
def test_tokens_that_kafka_refuses_are_not_sent(values: dict[str, str]) -> None:
    with pytest.raises(EncodeError, match=f"^{next(iter(values))} is"):
        ClientFirst(**({"username": "user", "nonce": "abc"} | values))


@pytest.mark.parametrize(
    ("extensions", "words"),
    [
        ({"": "1"}, "not made of letters"),
        ({"ext1": "1"}, "not made of letters"),
        ({"n": "admin"}, "has a reserved name"),
        ({"m": "must"}, "has a reserved name"),
        ({"ext": ""}, "empty"),
        ({"ext": "a,n=admin"}, "invalid character"),
        ({"ext": "\u00fc"}, "invalid character"),
    ],
)
def test_invalid_extensions_are_refused(extensions: dict[str, str], words: str) -> None:
    with pytest.raises(EncodeError, match=words):
        ClientFirst(username="user", nonce="abc", extensions=extensions)


def test_a_client_does_not_send_its_answer_without_proof() -> None:
    with pytest.raises(EncodeError, match="proof is empty"):
        ClientFinal(channel_binding=b"n,,", nonce=NONCE).encode()


def test_proofs_signatures_and_values_of_extensions_are_hidden() -> None:
    final = ClientFinal(channel_binding=b"n,,", nonce="abc", proof=b"hidden", extensions={"x": "y"})

    assert repr(final) == "ClientFinal(channel_binding=b'n,,', nonce='abc', extensions=[x])"
    assert repr(ServerFinal(b"hidden")) == "ServerFinal(extensions=[])"
