from __future__ import annotations

import pytest

from pyk.protocol import EncodeError
from pyk.protocol.sasl import FAILURE_SEEN, OAuthBearerFailure, OAuthBearerResponse


# Kafka's OAuthBearerClientInitialResponseTest.
@pytest.mark.parametrize(
    ("response", "data"),
    [
        (OAuthBearerResponse("123.345.567"), b"n,,\x01auth=Bearer 123.345.567\x01\x01"),
        (
            OAuthBearerResponse("123.345.567", extensions={"nineteen": "42"}),
            b"n,,\x01auth=Bearer 123.345.567\x01nineteen=42\x01\x01",
        ),
        (
            OAuthBearerResponse("345", authzid="myuser"),
            b"n,a=myuser,\x01auth=Bearer 345\x01\x01",
        ),
        (
            OAuthBearerResponse("345", authzid="a,b=c"),
            b"n,a=a=2Cb=3Dc,\x01auth=Bearer 345\x01\x01",
        ),
    ],
)
def test_a_response_has_the_token_and_its_extensions(
    response: OAuthBearerResponse, data: bytes
) -> None:
    assert response.encode() == data
    assert OAuthBearerResponse.decode(data) == response


def test_the_example_of_rfc_7628_is_read() -> None:
    data = (
        b"n,a=user@example.com,\x01host=server.example.com\x01port=143\x01"
        b"auth=Bearer vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg==\x01\x01"
    )

    assert OAuthBearerResponse.decode(data) == OAuthBearerResponse(
        "vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg==",
        authzid="user@example.com",
        extensions={"host": "server.example.com", "port": "143"},
    )


@pytest.mark.parametrize("scheme", ["bearer", "BEARER", "Bearer   "])
def test_the_scheme_may_be_written_in_any_case_and_with_spaces(scheme: str) -> None:
    data = f"n,,\x01auth={scheme} abc\x01\x01".encode()

    assert OAuthBearerResponse.decode(data).token == "abc"


def test_values_of_extensions_may_have_spaces_and_lines() -> None:
    response = OAuthBearerResponse("abc", extensions={"text": "a = b\tc\r\n"})

    assert OAuthBearerResponse.decode(response.encode()) == response


@pytest.mark.parametrize("token", ["", "a b", "a\x01b", "=", "a=b", "j\u00fcrgen", "a\n"])
def test_an_invalid_token_is_not_shown(token: str) -> None:
    with pytest.raises(EncodeError, match=r"^token is not a bearer token of RFC 6750$"):
        OAuthBearerResponse(token)


@pytest.mark.parametrize(
    ("extensions", "words"),
    [
        ({"19": "42"}, "not made of letters"),
        ({"auth": "Bearer other"}, "has a reserved name"),
        ({"ext": ""}, "empty"),
        ({"ext": "a\x01auth=Bearer other"}, "invalid character"),
    ],
)
def test_invalid_extensions_are_refused(extensions: dict[str, str], words: str) -> None:
    with pytest.raises(EncodeError, match=words):
        OAuthBearerResponse("abc", extensions=extensions)


def test_tokens_and_values_of_extensions_are_hidden() -> None:
    response = OAuthBearerResponse("secret", extensions={"pool": "hidden"})

    assert repr(response) == "OAuthBearerResponse(authzid='', extensions=[pool])"


def test_a_failure_says_where_to_get_a_better_token() -> None:
    # RFC 7628, section 4.3.
    data = b"""{"status":"invalid_token","scope":"example_scope",
      "openid-configuration":"https://example.com/.well-known/openid-configuration"}"""
    failure = OAuthBearerFailure(
        "invalid_token",
        scope="example_scope",
        openid_configuration="https://example.com/.well-known/openid-configuration",
    )

    assert OAuthBearerFailure.decode(data) == failure
    assert OAuthBearerFailure.decode(failure.encode()) == failure


def test_missing_members_of_a_failure_are_left_out() -> None:
    assert OAuthBearerFailure("invalid_token").encode() == b'{"status":"invalid_token"}'


def test_unknown_members_of_a_failure_are_ignored() -> None:
    data = b'{"status":"invalid_token","schemes":["bearer"],"scope":null}'

    assert OAuthBearerFailure.decode(data) == OAuthBearerFailure("invalid_token")


@pytest.mark.parametrize("text", ["a\nb", "\x1b[31m", "\ud800"])
def test_a_failure_has_nothing_in_it_that_spoils_a_log(text: str) -> None:
    with pytest.raises(EncodeError, match=r"^scope is not printable text$"):
        OAuthBearerFailure("invalid_token", scope=text)


def test_a_client_answers_a_failure_with_one_byte() -> None:
    assert FAILURE_SEEN == b"\x01"
