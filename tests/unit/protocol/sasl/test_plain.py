from __future__ import annotations

import pytest

from pyk.protocol import EncodeError
from pyk.protocol.sasl import MAX_TOKEN_BYTES, PlainToken


def test_a_token_without_authorization_id_begins_with_nul() -> None:
    assert PlainToken("tim", "tanstaaftanstaaf").encode() == b"\0tim\0tanstaaftanstaaf"


def test_the_authorization_id_comes_first() -> None:
    token = PlainToken.decode(b"Ursel\0Kurt\0xipj3plmq")

    assert token == PlainToken("Kurt", "xipj3plmq", authzid="Ursel")


def test_names_and_passwords_are_utf_8() -> None:
    assert PlainToken.decode("\0jürgen\0密码, 🔑".encode()) == PlainToken("jürgen", "密码, 🔑")


@pytest.mark.parametrize(
    ("values", "field"),
    [
        (("", "secret"), "username"),
        (("user", ""), "password"),
        (("us\0er", "secret"), "username"),
        (("user", "sec\0ret"), "password"),
        (("user", "sec\ud800ret"), "password"),
        (("user", "secret", "a\0b"), "authzid"),
    ],
)
def test_a_token_that_cannot_be_sent_raises(values: tuple[str, ...], field: str) -> None:
    with pytest.raises(EncodeError, match=f"^{field} is empty, or has a NUL") as caught:
        PlainToken(*values)

    assert "sec" not in str(caught.value)


def test_a_token_that_no_broker_takes_is_not_sent() -> None:
    token = PlainToken("user", "p" * MAX_TOKEN_BYTES)

    with pytest.raises(EncodeError, match="524294 bytes, more than 524288"):
        token.encode()


def test_the_password_is_not_shown() -> None:
    assert repr(PlainToken("user", "secret")) == "PlainToken(username='user', authzid='')"
