"""SASL tokens that are wrong, or right for another parser, one by one.

Kafka 4.3.1 takes those that say so; pyk refuses them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

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
from support.scram import ANSWER, CLIENT_FIRST, FIRST, NONCE, SERVER_FIRST, UNPROVEN

Decode: TypeAlias = Callable[[bytes], Any]


def server_first(data: bytes) -> ServerFirst:
    return ServerFirst.decode(data, CLIENT_FIRST)


def client_final(data: bytes) -> ClientFinal:
    return ClientFinal.decode(data, CLIENT_FIRST, SERVER_FIRST)


GOOD: dict[Decode, bytes] = {
    PlainToken.decode: b"\0user\0secret",
    ClientFirst.decode: FIRST,
    server_first: ANSWER,
    client_final: UNPROVEN + b",p=AAAA",
    ServerFinal.decode: b"v=AAAA",
    OAuthBearerResponse.decode: b"n,,\x01auth=Bearer abc\x01\x01",
    OAuthBearerFailure.decode: b'{"status":"invalid_token"}',
}

# Bytes, a word of the error.
PLAIN = {
    "nothing": (b"", "1 parts"),
    "a name alone": (b"user", "1 parts"),
    "no password": (b"\0user", "2 parts"),
    "a fourth part": (b"\0user\0secret\0admin", "4 parts"),
    "a NUL at the end": (b"\0user\0secret\0", "4 parts"),
    "an empty name": (b"\0\0secret", "username is empty"),
    "an empty password": (b"\0user\0", "password is empty"),
    "a password in Latin-1, which Kafka changes": (b"\0user\0s\xe4cret", "not all of it is UTF-8"),
    "a name in Latin-1, which Kafka changes": (b"\0\xfcser\0secret", "not all of it is UTF-8"),
    "half of a surrogate pair, which Kafka changes": (
        b"\0user\0\xed\xa0\x80",
        "not all of it is UTF-8",
    ),
    "NUL in two bytes, which Kafka changes": (b"\0us\xc0\x80er\0secret", "not all of it is UTF-8"),
}
CLIENT_FIRSTS = {
    "nothing": (b"", "begin with 'n,'"),
    "no header": (b"n=user,r=abc", "begin with 'n,'"),
    "a flag in capitals": (b"N,,n=user,r=abc", "begin with 'n,'"),
    "a header that ends": (b"n,", "ends inside the header"),
    "a client that could bind to the channel": (b"y,,n=user,r=abc", "channel binding"),
    "a client that binds to it": (b"p=tls-exporter,,n=user,r=abc", "channel binding"),
    "something else in the header": (b"n,x=something,n=user,r=abc", "else than an authorization"),
    "an empty authorization id": (b"n,a=,n=user,r=abc", "else than an authorization"),
    "a mandatory extension, which Kafka ignores": (b"n,,m=must,n=user,r=abc", "must be known"),
    "a mandatory extension later": (b"n,,n=user,m=must,r=abc", "must be known"),
    "a mandatory extension last, which Kafka ignores": (
        b"n,,n=user,r=abc,m=must",
        "means something else",
    ),
    "no name": (b"n,,r=abc", "n= is not where"),
    "an empty name": (b"n,,n=,r=abc", "username is empty"),
    "no nonce": (b"n,,n=user", "r= is not where"),
    "an empty nonce": (b"n,,n=user,r=", "nonce is empty"),
    "a nonce with a space": (b"n,,n=user,r=a b", "nonce is empty, or not printable"),
    "name and nonce the other way round": (b"n,,r=abc,n=user", "n= is not where"),
    "an attribute in capitals": (b"n,,N=user,r=abc", "n= is not where"),
    "a bare equals sign in a name": (b"n,,n=us=er,r=abc", "neither =2C nor =3D"),
    "an escape in small letters": (b"n,,n=us=2cer,r=abc", "neither =2C nor =3D"),
    "an escape inside an escape": (b"n,,n=us==2C3Der,r=abc", "neither =2C nor =3D"),
    "an escape of something else": (b"n,,n=us=41er,r=abc", "neither =2C nor =3D"),
    "an authorization id badly escaped": (b"n,a=a=b,n=user,r=abc", "neither =2C nor =3D"),
    "a NUL in a name": (b"n,,n=us\0er,r=abc", "username is empty, or not ASCII"),
    "a name that is not ASCII": ("n,,n=j\u00fcrgen,r=abc".encode(), "not all of it is ASCII"),
    "a second name, which Kafka ignores": (b"n,,n=user,r=abc,n=admin", "means something else"),
    "a comma at the end": (FIRST + b",", "not made of letters"),
    "an extension without a value": (FIRST + b",ext", "an extension is empty"),
    "an extension with an empty value": (FIRST + b",ext=", "an extension is empty"),
    "an extension with a digit in its name": (FIRST + b",ext1=value", "not made of letters"),
    "an extension with a space in its name": (FIRST + b",ext =value", "not made of letters"),
    "an extension twice, of which Kafka takes the last": (
        FIRST + b",tokenauth=true,tokenauth=false",
        "comes twice",
    ),
}
SERVER_FIRSTS = {
    "nothing": (b"", "r= is not where"),
    "a mandatory extension, which Kafka ignores": (b"m=must," + ANSWER, "must be known"),
    "something between the attributes": (
        f"r={NONCE},invalid,s=c2FsdA==,i=4096".encode(),
        "s= is not where",
    ),
    "no salt": (f"r={NONCE},i=4096".encode(), "s= is not where"),
    "an empty salt, which Kafka takes": (f"r={NONCE},s=,i=4096".encode(), "salt is empty"),
    "a salt that is not base64": (f"r={NONCE},s==123,i=4096".encode(), "salt is not base64"),
    "a salt without its padding": (f"r={NONCE},s=c2FsdA,i=4096".encode(), "salt is not base64"),
    "a salt padded too much": (f"r={NONCE},s=c2FsdA===,i=4096".encode(), "salt is not base64"),
    "a salt with bits left over, which Kafka takes": (
        f"r={NONCE},s=c2FsdB==,i=4096".encode(),
        "salt is not base64",
    ),
    "a salt for URLs": (f"r={NONCE},s=--__,i=4096".encode(), "salt is not base64"),
    "a salt with a line end": (f"r={NONCE},s=c2Fs\ndA==,i=4096".encode(), "salt is not base64"),
    "no iterations": (f"r={NONCE},s=c2FsdA==".encode(), "i= is not where"),
    "iterations that are no number": (f"r={NONCE},s=c2FsdA==,i=many".encode(), "not a number"),
    "iterations with a sign": (f"r={NONCE},s=c2FsdA==,i=+4096".encode(), "not a number"),
    "iterations with an underscore": (f"r={NONCE},s=c2FsdA==,i=4_096".encode(), "not a number"),
    "iterations with a zero in front, which Kafka takes": (
        f"r={NONCE},s=c2FsdA==,i=04096".encode(),
        "not a number",
    ),
    "no iterations at all": (f"r={NONCE},s=c2FsdA==,i=0".encode(), "not a number"),
    "one iteration": (f"r={NONCE},s=c2FsdA==,i=1".encode(), "1 iterations, not 4096"),
    "one too few": (f"r={NONCE},s=c2FsdA==,i=4095".encode(), "4095 iterations, not 4096"),
    "one too many, which Kafka takes": (
        f"r={NONCE},s=c2FsdA==,i=1000001".encode(),
        "more than 1000000",
    ),
    "an hour of work, which Kafka does": (
        f"r={NONCE},s=c2FsdA==,i=2147483647".encode(),
        "2147483647 iterations, more than 1000000",
    ),
    "iterations of a thousand digits": (
        f"r={NONCE},s=c2FsdA==,i={'9' * 1000}".encode(),
        "not a number",
    ),
    "the nonce of somebody else": (b"r=abcdef,s=c2FsdA==,i=4096", "nonce is not the client's"),
    "the client's nonce in other letters": (
        f"r={NONCE.lower()},s=c2FsdA==,i=4096".encode(),
        "nonce is not the client's",
    ),
    "nothing behind the client's nonce, which Kafka takes": (
        f"r={CLIENT_FIRST.nonce},s=c2FsdA==,i=4096".encode(),
        "nonce is not the client's",
    ),
    "a refusal too early": (b"e=other-error", "r= is not where"),
    "an extension that is none": (ANSWER + b",ext", "an extension is empty"),
}
CLIENT_FINALS = {
    "nothing": (b"", "c= is not where"),
    "no proof": (UNPROVEN, "p= is not where"),
    "an empty proof, which Kafka refuses later": (UNPROVEN + b",p=", "proof is empty"),
    "a proof that is not base64": (UNPROVEN + b",p=123", "proof is not base64"),
    "something behind the proof": (UNPROVEN + b",p=AAAA,ext=value", "p= is not where"),
    "two proofs, of which Kafka takes the last": (
        UNPROVEN + b",p=AAAA,p=BBBB",
        "means something else",
    ),
    "a mandatory extension": (b"m=must," + UNPROVEN + b",p=AAAA", "must be known"),
    "a mandatory extension later, which Kafka ignores": (
        UNPROVEN + b",m=must,p=AAAA",
        "means something else",
    ),
    "the header of somebody else, which Kafka does not look at": (
        f"c=eSws,r={NONCE},p=AAAA".encode(),
        "channel binding is not the header",
    ),
    "no header, which Kafka does not look at": (
        f"c=,r={NONCE},p=AAAA".encode(),
        "channel binding is not the header",
    ),
    "a channel binding that is not base64": (
        f"c=biw,r={NONCE},p=AAAA".encode(),
        "channel binding is not base64",
    ),
    "the client's nonce alone": (
        f"c=biws,r={CLIENT_FIRST.nonce},p=AAAA".encode(),
        "nonce is not the server's",
    ),
    "a longer nonce": (f"c=biws,r={NONCE}x,p=AAAA".encode(), "nonce is not the server's"),
}
SERVER_FINALS = {
    "nothing": (b"", "v= is not where"),
    "an empty signature, which Kafka refuses later": (b"v=", "signature is empty"),
    "a signature that is not base64": (b"v=1=23", "signature is not base64"),
    "a signature behind something": (b"ext=value,v=AAAA", "v= is not where"),
    "two signatures, of which Kafka takes the first": (b"v=AAAA,v=BBBB", "means something else"),
    "an empty refusal": (b"e=", "error is empty"),
    "a signature and a refusal, which Kafka takes for the signature": (
        b"v=AAAA,e=other-error",
        "means something else",
    ),
    "an extension that is none": (b"v=AAAA,ext1=value", "not made of letters"),
}
BEARERS = {
    "nothing": (b"", "begin with 'n,'"),
    "no separators": (b"n,,", "not enclosed"),
    "one separator": (b"n,,\x01", "not enclosed"),
    "two separators": (b"n,,\x01\x01", "not enclosed"),
    "no pairs": (b"n,,\x01\x01\x01", "auth is missing"),
    "the end of a pair missing": (b"n,,\x01auth=Bearer abc\x01", "not enclosed"),
    "something behind the end": (b"n,,\x01auth=Bearer abc\x01\x01\x01", "not made of letters"),
    "commas, as the first Kafka to know it wrote it": (b"n,,auth=Bearer abc", "not enclosed"),
    "a failure's answer": (b"\x01", "begin with 'n,'"),
    "channel binding": (b"y,,\x01auth=Bearer abc\x01\x01", "channel binding"),
    "an authorization id badly escaped": (
        b"n,a=a=b,\x01auth=Bearer abc\x01\x01",
        "neither =2C nor =3D",
    ),
    "no token": (b"n,,\x01auth=Bearer \x01\x01", "auth is missing"),
    "no scheme": (b"n,,\x01auth=abc\x01\x01", "auth is missing"),
    "another scheme": (b"n,,\x01auth=Basic abc\x01\x01", "auth is missing"),
    "a tab behind the scheme": (b"n,,\x01auth=Bearer\tabc\x01\x01", "auth is missing"),
    "a token with a space": (b"n,,\x01auth=Bearer a bc\x01\x01", "auth is missing"),
    "a token that is not ASCII": ("n,,\x01auth=Bearer \u00fc\x01\x01".encode(), "ASCII"),
    "auth in capitals": (b"n,,\x01AUTH=Bearer abc\x01\x01", "auth is missing"),
    "two tokens, of which Kafka takes the last": (
        b"n,,\x01auth=Bearer abc\x01auth=Bearer def\x01\x01",
        "comes twice",
    ),
    "an extension twice, of which Kafka takes the last": (
        b"n,,\x01auth=Bearer abc\x01x=1\x01x=2\x01\x01",
        "comes twice",
    ),
    "an extension with a digit in its name": (
        b"n,,\x01auth=Bearer abc\x0119=42\x01\x01",
        "not made of letters",
    ),
    "an extension without a value": (b"n,,\x01auth=Bearer abc\x01x\x01\x01", "is empty"),
    "an extension with a NUL": (b"n,,\x01auth=Bearer abc\x01x=\0\x01\x01", "a character"),
    "spaces without end": (
        b"n,,\x01auth=Bearer" + b" " * 500_000 + b"\n\x01\x01",
        "auth is missing",
    ),
    "many extensions": (
        b"n,,\x01auth=Bearer abc\x01" + b"a=b\x01" * 100_000 + b"\x01",
        "comes twice",
    ),
}
FAILURES = {
    "nothing": (b"", "not a JSON object"),
    "no JSON": (b"invalid_token", "not a JSON object"),
    "a text": (b'"invalid_token"', "not a JSON object"),
    "null": (b"null", "not a JSON object"),
    "a quote that Kafka did not escape": (b'{"status":"not "valid""}', "not a JSON object"),
    "two objects": (b'{"status":"a"}{}', "not a JSON object"),
    "what is not UTF-8": (b'{"status":"\xe4"}', "not a JSON object"),
    "no status": (b'{"scope":"a"}', "no status"),
    "a status of null": (b'{"status":null}', "status is not a text"),
    "a status that is a number": (b'{"status":401}', "status is not a text"),
    "a scope that is a list": (b'{"status":"a","scope":["b"]}', "scope is not a text"),
    "a line end for the log": (b'{"status":"a\\nb"}', "status is not a text"),
    "half of a surrogate pair": (b'{"status":"\\ud800"}', "status is not a text"),
    "endless nesting": (b'{"status":' + b"[" * 500_000, "not a JSON object"),
    "a number of many digits": (b'{"status":' + b"9" * 500_000 + b"}", "not a JSON object"),
}
REFUSED = {
    f"{name}: {what}": (decode, data, words)
    for name, decode, table in [
        ("PLAIN", PlainToken.decode, PLAIN),
        ("SCRAM client-first", ClientFirst.decode, CLIENT_FIRSTS),
        ("SCRAM server-first", server_first, SERVER_FIRSTS),
        ("SCRAM client-final", client_final, CLIENT_FINALS),
        ("SCRAM server-final", ServerFinal.decode, SERVER_FINALS),
        ("OAUTHBEARER client response", OAuthBearerResponse.decode, BEARERS),
        ("OAUTHBEARER failure", OAuthBearerFailure.decode, FAILURES),
    ]
    for what, (data, words) in table.items()
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_bad_token_is_refused_with_the_reason(case: str) -> None:
    decode, data, words = REFUSED[case]

    with pytest.raises(MalformedTokenError, match=words) as caught:
        decode(data)

    assert str(caught.value).startswith(case.partition(":")[0] + ": ")


@pytest.mark.parametrize("decode", GOOD)
def test_what_the_bad_tokens_were_made_from_is_good(decode: Decode) -> None:
    assert decode(GOOD[decode]) is not None
    assert decode(memoryview(GOOD[decode])) == decode(GOOD[decode])


@pytest.mark.parametrize("decode", GOOD)
def test_a_token_of_more_than_half_a_mebibyte_is_not_looked_at(decode: Decode) -> None:
    data = GOOD[decode].ljust(MAX_TOKEN_BYTES + 1, b"a")

    with pytest.raises(MalformedTokenError, match="524289 bytes, more than 524288"):
        decode(data)


@pytest.mark.parametrize("decode", GOOD)
def test_any_flipped_bit_gives_an_error_or_another_token(decode: Decode) -> None:
    good = decode(GOOD[decode])
    for position in range(8 * len(GOOD[decode])):
        data = bytearray(GOOD[decode])
        data[position // 8] ^= 1 << position % 8

        try:
            found = decode(bytes(data))
        except (MalformedTokenError, ScramRefusedError):
            continue
        # "Bearer" is one word in all its spellings.
        assert found != good or data.lower() == GOOD[decode].lower()


@pytest.mark.parametrize(
    ("decode", "data"),
    [
        (PlainToken.decode, b"\0user\0canary\0"),
        (PlainToken.decode, b"\0user\0canary\xff"),
        (PlainToken.decode, b"canary"),
        (client_final, UNPROVEN + b",p=canary"),
        (client_final, UNPROVEN + b",canary=1,canary=2,p=AAAA"),
        (ServerFinal.decode, b"v=canary"),
        (ServerFinal.decode, b"canary"),
        (OAuthBearerResponse.decode, b"n,,\x01auth=Bearer can\tcanary\x01\x01"),
        (OAuthBearerResponse.decode, b"n,,\x01auth=canary\x01\x01"),
        (OAuthBearerResponse.decode, b"n,,\x01auth=Bearer x\x01canary1=x\x01\x01"),
        (OAuthBearerResponse.decode, b"canary"),
        (ClientFirst.decode, b"canary"),
    ],
)
def test_no_error_repeats_a_secret_even_where_it_hides_its_cause(
    decode: Decode, data: bytes
) -> None:
    with pytest.raises(MalformedTokenError) as caught:
        decode(data)

    error: BaseException | None = caught.value
    while error is not None:
        assert "canary" not in f"{error!r} {vars(error)} {getattr(error, 'object', '')!r}"
        error = error.__context__
