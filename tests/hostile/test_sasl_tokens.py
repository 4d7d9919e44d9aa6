"""Decode malformed SASL tokens, and tokens that another parser reads in another way.

Cases note where Kafka 4.3.1 treats the token differently; pyk refuses all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest

from pyk.protocol.sasl import (
    MAX_TOKEN_BYTES,
    ClientFinal,
    ClientFirst,
    MalformedTokenError,
    OAuthBearerFailure,
    OAuthBearerResponse,
    PlainToken,
    ScramRefusedError,
    ServerFinal,
    ServerFirst,
)
from support import scram
from support.scram import FIRST, NONCE, UNPROVEN


@attrs.frozen
class TokenFormat:
    """One kind of token: its name in errors, its decoder, and a token that is valid."""

    name: str
    decode: Callable[[bytes | memoryview], Any]
    valid_token: bytes


PLAIN = TokenFormat("PLAIN", PlainToken.decode, b"\0user\0secret")
CLIENT_FIRST = TokenFormat("SCRAM client-first", ClientFirst.decode, FIRST)
SERVER_FIRST = TokenFormat(
    "SCRAM server-first",
    lambda token: ServerFirst.decode(token, scram.CLIENT_FIRST),
    scram.ANSWER,
)
CLIENT_FINAL = TokenFormat(
    "SCRAM client-final",
    lambda token: ClientFinal.decode(token, scram.CLIENT_FIRST, scram.SERVER_FIRST),
    UNPROVEN + b",p=AAAA",
)
SERVER_FINAL = TokenFormat("SCRAM server-final", ServerFinal.decode, b"v=AAAA")
OAUTHBEARER_RESPONSE = TokenFormat(
    "OAUTHBEARER client response",
    OAuthBearerResponse.decode,
    b"n,,\x01auth=Bearer abc\x01\x01",
)
OAUTHBEARER_FAILURE = TokenFormat(
    "OAUTHBEARER failure", OAuthBearerFailure.decode, b'{"status":"invalid_token"}'
)

every_format = pytest.mark.parametrize(
    "token_format",
    [
        PLAIN,
        CLIENT_FIRST,
        SERVER_FIRST,
        CLIENT_FINAL,
        SERVER_FINAL,
        OAUTHBEARER_RESPONSE,
        OAUTHBEARER_FAILURE,
    ],
    ids=lambda token_format: token_format.name,
)


# -- what holds for every format -------------------------------------------------------------------


@every_format
def test_a_valid_token_is_decoded_from_bytes_and_from_a_view(token_format: TokenFormat) -> None:
    decoded = token_format.decode(token_format.valid_token)

    assert decoded is not None
    assert token_format.decode(memoryview(token_format.valid_token)) == decoded


@every_format
def test_a_token_of_more_than_half_a_mebibyte_is_refused(token_format: TokenFormat) -> None:
    token = token_format.valid_token.ljust(MAX_TOKEN_BYTES + 1, b"a")

    with pytest.raises(MalformedTokenError, match="524289 bytes, more than 524288"):
        token_format.decode(token)


@every_format
def test_a_token_with_a_flipped_bit_is_refused_or_another_token(token_format: TokenFormat) -> None:
    valid = token_format.valid_token
    original = token_format.decode(valid)

    for bit in range(8 * len(valid)):
        token = with_flipped_bit(valid, bit)
        try:
            decoded = token_format.decode(token)
        except (MalformedTokenError, ScramRefusedError):
            continue
        differs_in_case_only = token.lower() == valid.lower()  # "bearer" means "Bearer"
        assert decoded != original or differs_in_case_only


def with_flipped_bit(token: bytes, bit: int) -> bytes:
    flipped = bytearray(token)
    flipped[bit // 8] ^= 1 << bit % 8
    return bytes(flipped)


@pytest.mark.parametrize(
    ("token_format", "token"),
    [
        (PLAIN, b"\0user\0canary\0"),
        (PLAIN, b"\0user\0canary\xff"),
        (PLAIN, b"canary"),
        (CLIENT_FINAL, UNPROVEN + b",p=canary"),
        (CLIENT_FINAL, UNPROVEN + b",canary=1,canary=2,p=AAAA"),
        (SERVER_FINAL, b"v=canary"),
        (SERVER_FINAL, b"canary"),
        (OAUTHBEARER_RESPONSE, b"n,,\x01auth=Bearer can\tcanary\x01\x01"),
        (OAUTHBEARER_RESPONSE, b"n,,\x01auth=canary\x01\x01"),
        (OAUTHBEARER_RESPONSE, b"n,,\x01auth=Bearer x\x01canary1=x\x01\x01"),
        (OAUTHBEARER_RESPONSE, b"canary"),
        (CLIENT_FIRST, b"canary"),
    ],
)
def test_no_error_and_no_cause_of_one_repeats_a_secret(
    token_format: TokenFormat, token: bytes
) -> None:
    with pytest.raises(MalformedTokenError) as caught:
        token_format.decode(token)

    error: BaseException | None = caught.value
    while error is not None:
        assert "canary" not in f"{error!r} {vars(error)} {getattr(error, 'object', '')!r}"
        error = error.__context__


# -- malformed tokens, format by format ------------------------------------------------------------

# By the kind of damage: the token, and words of the error.
MalformedTokens = dict[str, tuple[bytes, str]]


def each_of(malformed: MalformedTokens) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("token", "words"), malformed.values(), ids=malformed.keys())


def assert_refused(token_format: TokenFormat, token: bytes, words: str) -> None:
    with pytest.raises(MalformedTokenError, match=words) as error:
        token_format.decode(token)

    assert str(error.value).startswith(f"{token_format.name}: ")


MALFORMED_PLAIN: MalformedTokens = {
    "an empty token": (b"", "1 parts"),
    "only a username": (b"user", "1 parts"),
    "no password": (b"\0user", "2 parts"),
    "a fourth part": (b"\0user\0secret\0admin", "4 parts"),
    "a NUL at the end": (b"\0user\0secret\0", "4 parts"),
    "an empty username": (b"\0\0secret", "username is empty"),
    "an empty password": (b"\0user\0", "password is empty"),
    "a password in Latin-1, which Kafka decodes to something else": (
        b"\0user\0s\xe4cret",
        "not all of it is UTF-8",
    ),
    "a username in Latin-1, which Kafka decodes to something else": (
        b"\0\xfcser\0secret",
        "not all of it is UTF-8",
    ),
    "half of a surrogate pair, which Kafka decodes to something else": (
        b"\0user\0\xed\xa0\x80",
        "not all of it is UTF-8",
    ),
    "NUL in two bytes, which Kafka decodes to something else": (
        b"\0us\xc0\x80er\0secret",
        "not all of it is UTF-8",
    ),
}


@each_of(MALFORMED_PLAIN)
def test_a_malformed_plain_token_is_refused(token: bytes, words: str) -> None:
    assert_refused(PLAIN, token, words)


MALFORMED_CLIENT_FIRST: MalformedTokens = {
    "an empty token": (b"", "begin with 'n,'"),
    "no header": (b"n=user,r=abc", "begin with 'n,'"),
    "the channel binding flag in capitals": (b"N,,n=user,r=abc", "begin with 'n,'"),
    "a header that is cut off": (b"n,", "ends inside the header"),
    "a client that supports channel binding": (b"y,,n=user,r=abc", "channel binding"),
    "a client that requires channel binding": (b"p=tls-exporter,,n=user,r=abc", "channel binding"),
    "an unknown attribute in the header": (
        b"n,x=something,n=user,r=abc",
        "other than an authorization",
    ),
    "an empty authorization id": (b"n,a=,n=user,r=abc", "other than an authorization"),
    "a mandatory extension, which Kafka ignores": (b"n,,m=must,n=user,r=abc", "none is supported"),
    "a mandatory extension after the username": (b"n,,n=user,m=must,r=abc", "none is supported"),
    "a mandatory extension at the end, which Kafka ignores": (
        b"n,,n=user,r=abc,m=must",
        "has a reserved name",
    ),
    "no username": (b"n,,r=abc", "n= is not where"),
    "an empty username": (b"n,,n=,r=abc", "username is empty"),
    "no nonce": (b"n,,n=user", "r= is not where"),
    "an empty nonce": (b"n,,n=user,r=", "nonce is empty"),
    "a nonce with a space": (b"n,,n=user,r=a b", "nonce is empty, or not printable"),
    "the nonce before the username": (b"n,,r=abc,n=user", "n= is not where"),
    "an attribute name in capitals": (b"n,,N=user,r=abc", "n= is not where"),
    "an unescaped equals sign in the username": (b"n,,n=us=er,r=abc", "neither =2C nor =3D"),
    "an escape in lower case": (b"n,,n=us=2cer,r=abc", "neither =2C nor =3D"),
    "an escape inside an escape": (b"n,,n=us==2C3Der,r=abc", "neither =2C nor =3D"),
    "an escape of another character": (b"n,,n=us=41er,r=abc", "neither =2C nor =3D"),
    "a badly escaped authorization id": (b"n,a=a=b,n=user,r=abc", "neither =2C nor =3D"),
    "a NUL in the username": (b"n,,n=us\0er,r=abc", "username is empty, or not ASCII"),
    "a username that is not ASCII": ("n,,n=j\u00fcrgen,r=abc".encode(), "not all of it is ASCII"),
    "a second username, which Kafka ignores": (b"n,,n=user,r=abc,n=admin", "has a reserved name"),
    "a comma at the end": (FIRST + b",", "not made of letters"),
    "an extension without a value": (FIRST + b",ext", "an extension is empty"),
    "an extension with an empty value": (FIRST + b",ext=", "an extension is empty"),
    "an extension with a digit in its name": (FIRST + b",ext1=value", "not made of letters"),
    "an extension with a space in its name": (FIRST + b",ext =value", "not made of letters"),
    "an extension twice, of which Kafka uses the last": (
        FIRST + b",tokenauth=true,tokenauth=false",
        "comes twice",
    ),
}


@each_of(MALFORMED_CLIENT_FIRST)
def test_a_malformed_scram_client_first_is_refused(token: bytes, words: str) -> None:
    assert_refused(CLIENT_FIRST, token, words)


def server_first_token(
    nonce: str = NONCE, salt: str = "c2FsdA==", iterations: str = "4096"
) -> bytes:
    return f"r={nonce},s={salt},i={iterations}".encode()


MALFORMED_SERVER_FIRST: MalformedTokens = {
    "an empty token": (b"", "r= is not where"),
    "a mandatory extension, which Kafka ignores": (b"m=must," + scram.ANSWER, "none is supported"),
    "an unknown word between the attributes": (
        f"r={NONCE},invalid,s=c2FsdA==,i=4096".encode(),
        "s= is not where",
    ),
    "no salt": (f"r={NONCE},i=4096".encode(), "s= is not where"),
    "an empty salt, which Kafka accepts": (server_first_token(salt=""), "salt is empty"),
    "a salt that is not base64": (server_first_token(salt="=123"), "salt is not canonical base64"),
    "a salt without its padding": (
        server_first_token(salt="c2FsdA"),
        "salt is not canonical base64",
    ),
    "a salt with too much padding": (
        server_first_token(salt="c2FsdA==="),
        "salt is not canonical base64",
    ),
    "a salt with unused bits that are set, which Kafka accepts": (
        server_first_token(salt="c2FsdB=="),
        "salt is not canonical base64",
    ),
    "a salt in URL-safe base64": (server_first_token(salt="--__"), "salt is not canonical base64"),
    "a salt with a line break": (
        server_first_token(salt="c2Fs\ndA=="),
        "salt is not canonical base64",
    ),
    "no iterations": (f"r={NONCE},s=c2FsdA==".encode(), "i= is not where"),
    "iterations that are not a number": (
        server_first_token(iterations="many"),
        "not a valid number",
    ),
    "iterations with a sign": (server_first_token(iterations="+4096"), "not a valid number"),
    "iterations with an underscore": (server_first_token(iterations="4_096"), "not a valid number"),
    "iterations with a leading zero, which Kafka accepts": (
        server_first_token(iterations="04096"),
        "not a valid number",
    ),
    "zero iterations": (server_first_token(iterations="0"), "not a valid number"),
    "one iteration": (server_first_token(iterations="1"), "1 iterations, not 4096"),
    "one iteration too few": (server_first_token(iterations="4095"), "4095 iterations, not 4096"),
    "one iteration too many, which Kafka accepts": (
        server_first_token(iterations="1000001"),
        "more than 1000000",
    ),
    "iterations for an hour of work, which Kafka accepts": (
        server_first_token(iterations="2147483647"),
        "2147483647 iterations, more than 1000000",
    ),
    "iterations with a thousand digits": (
        server_first_token(iterations="9" * 1000),
        "not a valid number",
    ),
    "the nonce of another client": (
        server_first_token(nonce="abcdef"),
        "the nonce does not extend that of the client",
    ),
    "the client's nonce in lower case": (
        server_first_token(nonce=NONCE.lower()),
        "the nonce does not extend that of the client",
    ),
    "a nonce without the server's part, which Kafka accepts": (
        server_first_token(nonce=scram.CLIENT_FIRST.nonce),
        "the nonce does not extend that of the client",
    ),
    "an error instead of a challenge": (b"e=other-error", "r= is not where"),
    "an extension without a value": (scram.ANSWER + b",ext", "an extension is empty"),
}


@each_of(MALFORMED_SERVER_FIRST)
def test_a_malformed_scram_server_first_is_refused(token: bytes, words: str) -> None:
    assert_refused(SERVER_FIRST, token, words)


MALFORMED_CLIENT_FINAL: MalformedTokens = {
    "an empty token": (b"", "c= is not where"),
    "no proof": (UNPROVEN, "p= is not where"),
    "an empty proof, which Kafka refuses later": (UNPROVEN + b",p=", "proof is empty"),
    "a proof that is not base64": (UNPROVEN + b",p=123", "proof is not canonical base64"),
    "an extension after the proof": (UNPROVEN + b",p=AAAA,ext=value", "p= is not where"),
    "two proofs, of which Kafka uses the last": (
        UNPROVEN + b",p=AAAA,p=BBBB",
        "has a reserved name",
    ),
    "a mandatory extension": (b"m=must," + UNPROVEN + b",p=AAAA", "none is supported"),
    "a mandatory extension after the nonce, which Kafka ignores": (
        UNPROVEN + b",m=must,p=AAAA",
        "has a reserved name",
    ),
    "another channel binding, which Kafka does not check": (
        f"c=eSws,r={NONCE},p=AAAA".encode(),
        "channel binding is not the header",
    ),
    "an empty channel binding, which Kafka does not check": (
        f"c=,r={NONCE},p=AAAA".encode(),
        "channel binding is not the header",
    ),
    "a channel binding that is not base64": (
        f"c=biw,r={NONCE},p=AAAA".encode(),
        "channel binding is not canonical base64",
    ),
    "a nonce without the server's part": (
        f"c=biws,r={scram.CLIENT_FIRST.nonce},p=AAAA".encode(),
        "the nonce is not that of the server",
    ),
    "a longer nonce": (f"c=biws,r={NONCE}x,p=AAAA".encode(), "the nonce is not that of the server"),
}


@each_of(MALFORMED_CLIENT_FINAL)
def test_a_malformed_scram_client_final_is_refused(token: bytes, words: str) -> None:
    assert_refused(CLIENT_FINAL, token, words)


MALFORMED_SERVER_FINAL: MalformedTokens = {
    "an empty token": (b"", "v= is not where"),
    "an empty signature, which Kafka refuses later": (b"v=", "signature is empty"),
    "a signature that is not base64": (b"v=1=23", "signature is not canonical base64"),
    "an extension before the signature": (b"ext=value,v=AAAA", "v= is not where"),
    "two signatures, of which Kafka uses the first": (b"v=AAAA,v=BBBB", "has a reserved name"),
    "an empty error": (b"e=", "error is empty"),
    "a signature and an error, which Kafka reads as a signature": (
        b"v=AAAA,e=other-error",
        "has a reserved name",
    ),
    "an extension with a digit in its name": (b"v=AAAA,ext1=value", "not made of letters"),
}


@each_of(MALFORMED_SERVER_FINAL)
def test_a_malformed_scram_server_final_is_refused(token: bytes, words: str) -> None:
    assert_refused(SERVER_FINAL, token, words)


MALFORMED_OAUTHBEARER_RESPONSE: MalformedTokens = {
    "an empty token": (b"", "begin with 'n,'"),
    "no separators": (b"n,,", "not enclosed"),
    "one separator": (b"n,,\x01", "not enclosed"),
    "two separators": (b"n,,\x01\x01", "not enclosed"),
    "no key-value pairs": (b"n,,\x01\x01\x01", "auth is missing"),
    "a pair without its separator": (b"n,,\x01auth=Bearer abc\x01", "not enclosed"),
    "a separator too many": (b"n,,\x01auth=Bearer abc\x01\x01\x01", "not made of letters"),
    "commas as separators, as in the first Kafka with OAUTHBEARER": (
        b"n,,auth=Bearer abc",
        "not enclosed",
    ),
    "the answer to a failure": (b"\x01", "begin with 'n,'"),
    "channel binding": (b"y,,\x01auth=Bearer abc\x01\x01", "channel binding"),
    "a badly escaped authorization id": (
        b"n,a=a=b,\x01auth=Bearer abc\x01\x01",
        "neither =2C nor =3D",
    ),
    "no token": (b"n,,\x01auth=Bearer \x01\x01", "auth is missing"),
    "no scheme": (b"n,,\x01auth=abc\x01\x01", "auth is missing"),
    "another scheme": (b"n,,\x01auth=Basic abc\x01\x01", "auth is missing"),
    "a tab after the scheme": (b"n,,\x01auth=Bearer\tabc\x01\x01", "auth is missing"),
    "a token with a space": (b"n,,\x01auth=Bearer a bc\x01\x01", "auth is missing"),
    "a token that is not ASCII": ("n,,\x01auth=Bearer \u00fc\x01\x01".encode(), "ASCII"),
    "the auth key in capitals": (b"n,,\x01AUTH=Bearer abc\x01\x01", "auth is missing"),
    "two tokens, of which Kafka uses the last": (
        b"n,,\x01auth=Bearer abc\x01auth=Bearer def\x01\x01",
        "comes twice",
    ),
    "an extension twice, of which Kafka uses the last": (
        b"n,,\x01auth=Bearer abc\x01x=1\x01x=2\x01\x01",
        "comes twice",
    ),
    "an extension with a digit in its name": (
        b"n,,\x01auth=Bearer abc\x0119=42\x01\x01",
        "not made of letters",
    ),
    "an extension without a value": (b"n,,\x01auth=Bearer abc\x01x\x01\x01", "is empty"),
    "an extension with a NUL": (b"n,,\x01auth=Bearer abc\x01x=\0\x01\x01", "invalid character"),
    "half a million spaces": (
        b"n,,\x01auth=Bearer" + b" " * 500_000 + b"\n\x01\x01",
        "auth is missing",
    ),
    "a hundred thousand extensions": (
        b"n,,\x01auth=Bearer abc\x01" + b"a=b\x01" * 100_000 + b"\x01",
        "comes twice",
    ),
}


@each_of(MALFORMED_OAUTHBEARER_RESPONSE)
def test_a_malformed_oauthbearer_response_is_refused(token: bytes, words: str) -> None:
    assert_refused(OAUTHBEARER_RESPONSE, token, words)


MALFORMED_OAUTHBEARER_FAILURE: MalformedTokens = {
    "an empty token": (b"", "not a JSON object"),
    "a word instead of JSON": (b"invalid_token", "not a JSON object"),
    "a JSON string": (b'"invalid_token"', "not a JSON object"),
    "a JSON null": (b"null", "not a JSON object"),
    "a quote that Kafka did not escape": (b'{"status":"not "valid""}', "not a JSON object"),
    "two objects": (b'{"status":"a"}{}', "not a JSON object"),
    "bytes that are not UTF-8": (b'{"status":"\xe4"}', "not a JSON object"),
    "no status": (b'{"scope":"a"}', "no status"),
    "a status of null": (b'{"status":null}', "status is not printable text"),
    "a status that is a number": (b'{"status":401}', "status is not printable text"),
    "a scope that is a list": (b'{"status":"a","scope":["b"]}', "scope is not printable text"),
    "a status with a line break": (b'{"status":"a\\nb"}', "status is not printable text"),
    "a status with half of a surrogate pair": (
        b'{"status":"\\ud800"}',
        "status is not printable text",
    ),
    "half a million nested lists": (b'{"status":' + b"[" * 500_000, "not a JSON object"),
    "a number with half a million digits": (
        b'{"status":' + b"9" * 500_000 + b"}",
        "not a JSON object",
    ),
}


@each_of(MALFORMED_OAUTHBEARER_FAILURE)
def test_a_malformed_oauthbearer_failure_is_refused(token: bytes, words: str) -> None:
    assert_refused(OAUTHBEARER_FAILURE, token, words)
