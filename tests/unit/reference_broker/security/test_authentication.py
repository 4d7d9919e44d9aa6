"""What a connection of a SASL listener may do, and when."""

from __future__ import annotations

import pytest

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.sasl import (
    FAILURE_SEEN,
    ClientFirst,
    OAuthBearerFailure,
    OAuthBearerResponse,
    PlainToken,
    ScramCredential,
    ScramMechanism,
)
from pyk.reference_broker.security.authentication import (
    SaslAuthentication,
    UnsupportedMechanismError,
)
from pyk.reference_broker.security.bearer_tokens import read_unsecured
from pyk.reference_broker.security.exchanges import (
    LoginRefusedError,
    OAuthBearerExchange,
    PlainExchange,
    SaslExchange,
    ScramExchange,
)
from pyk.reference_broker.security.principal import Login, Principal
from support.bearer_tokens import unsecured

USERS = {"alice": "secret", "bob": "secret"}
ALICE = PlainToken("alice", "secret").encode()
BOB = PlainToken("bob", "secret").encode()
SECOND = 1000


class Side:
    """The broker's side of one connection."""

    def __init__(self, max_session_ms: int = 0) -> None:
        self.now_ms = 1_000_000
        self.told: list[Principal] = []
        self.sasl = SaslAuthentication(
            {
                "PLAIN": lambda: PlainExchange(USERS),
                "OAUTHBEARER": lambda: OAuthBearerExchange(
                    lambda token: read_unsecured(token, self.now_ms)
                ),
            },
            max_session_ms,
            self.told.append,
        )

    def log_in(self, token: bytes = ALICE, mechanism: str = "PLAIN") -> tuple[bytes, int]:
        self.sasl.begin(mechanism, self.now_ms)
        return self.sasl.answer(token, self.now_ms)

    def allowed(self) -> set[ApiKey]:
        keys = (
            ApiKey.API_VERSIONS,
            ApiKey.SASL_HANDSHAKE,
            ApiKey.SASL_AUTHENTICATE,
            ApiKey.PRODUCE,
        )
        return {key for key in keys if self.sasl.allows(key, self.now_ms)}


def test_a_login_goes_from_handshake_to_everything() -> None:
    side = Side()
    assert side.allowed() == {ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE}

    side.sasl.greeted()
    assert side.allowed() == {ApiKey.SASL_HANDSHAKE}

    side.sasl.begin("PLAIN", 0)
    assert side.allowed() == {ApiKey.SASL_AUTHENTICATE}

    assert side.sasl.answer(ALICE, 0) == (b"", 0)
    side.sasl.greeted()
    assert ApiKey.PRODUCE in side.allowed()
    assert side.told == [Principal("alice")]


def test_a_refused_login_allows_nothing_and_shows_nothing_of_the_token() -> None:
    side = Side()

    with pytest.raises(LoginRefusedError) as error:
        side.log_in(b"\0alice\0canary")

    assert side.allowed() == set()
    assert side.sasl.is_refused
    assert "canary" not in f"{error.value!r} {error.value.__context__!r}"


@pytest.mark.parametrize(
    ("user", "password"), [("alice", "other"), ("alice", "secre"), ("carol", "secret")]
)
def test_a_wrong_password_and_an_unknown_user_are_refused_in_the_same_words(
    user: str, password: str
) -> None:
    side = Side()

    with pytest.raises(
        LoginRefusedError, match=r"^Authentication failed: Invalid username or pass"
    ):
        side.log_in(PlainToken(user, password).encode())

    assert side.allowed() == set()
    assert side.told == []


def test_a_mechanism_that_there_is_not_ends_the_connection() -> None:
    side = Side()

    with pytest.raises(UnsupportedMechanismError):
        side.sasl.begin("GSSAPI", 0)

    assert side.allowed() == set()


def test_after_its_lifetime_a_login_must_be_made_again() -> None:
    side = Side(max_session_ms=60 * SECOND)
    assert side.log_in() == (b"", 60 * SECOND)

    side.now_ms += 60 * SECOND
    assert side.allowed() == {ApiKey.SASL_HANDSHAKE}

    side.log_in()
    assert ApiKey.PRODUCE in side.allowed()
    assert side.told == [Principal("alice")]


def test_a_login_without_an_end_is_not_made_again() -> None:
    side = Side()
    side.log_in()

    assert not side.sasl.may_begin(side.now_ms + 60 * SECOND)


def test_logins_again_may_not_come_at_once_one_after_the_other() -> None:
    side = Side(max_session_ms=60 * SECOND)
    side.log_in()
    assert side.sasl.may_begin(side.now_ms)

    side.log_in()
    assert not side.sasl.may_begin(side.now_ms + SECOND - 1)
    assert side.sasl.may_begin(side.now_ms + SECOND)


def test_a_session_that_ends_before_a_login_may_be_made_again_is_over() -> None:
    side = Side(max_session_ms=SECOND // 2)
    side.log_in()
    side.log_in()

    assert ApiKey.SASL_HANDSHAKE in side.allowed()  # it is refused, by an answer
    side.now_ms += SECOND // 2
    assert side.allowed() == set()
    side.now_ms += SECOND // 2
    assert side.allowed() == {ApiKey.SASL_HANDSHAKE}


def test_a_login_again_keeps_the_principal() -> None:
    side = Side()
    side.log_in()

    with pytest.raises(LoginRefusedError, match="Cannot change principals") as error:
        side.log_in(BOB)

    assert "from User:alice: User:bob" in str(error.value)
    assert side.allowed() == set()


def test_a_login_again_keeps_the_mechanism() -> None:
    side = Side()
    side.log_in()

    with pytest.raises(LoginRefusedError, match="'OAUTHBEARER' requested by client is not"):
        side.sasl.begin("OAUTHBEARER", side.now_ms)


def test_the_refusal_of_a_login_again_says_so() -> None:
    side = Side()
    side.log_in()

    with pytest.raises(LoginRefusedError, match="failed during re-authentication due to"):
        side.log_in(b"\0\xff\0secret")


@pytest.mark.parametrize(
    ("token", "missing"), [(b"\0\0secret", "username"), (b"\0alice\0", "password")]
)
def test_a_part_of_a_password_that_is_missing_is_named(token: bytes, missing: str) -> None:
    with pytest.raises(LoginRefusedError, match=f"Authentication failed: {missing} not specified"):
        Side().log_in(token)


def test_the_refusal_of_bytes_that_are_no_password_says_how_many_parts_they_have() -> None:
    with pytest.raises(LoginRefusedError, match="expected 3 tokens, got 1"):
        Side().log_in(b"nonsense")


@pytest.mark.parametrize(
    ("max_session_ms", "seconds", "lifetime_ms"), [(0, 90, 90_000), (60_000, 90, 60_000)]
)
def test_a_login_holds_no_longer_than_its_token(
    max_session_ms: int, seconds: int, lifetime_ms: int
) -> None:
    side = Side(max_session_ms)
    token = unsecured(sub="alice", exp=side.now_ms // 1000 + seconds)

    _, lifetime = side.log_in(OAuthBearerResponse(token).encode(), "OAUTHBEARER")

    assert lifetime == lifetime_ms
    assert side.told == [Principal("alice")]


def test_a_token_that_is_over_lets_nobody_do_anything() -> None:
    """A broker may take one for a while, because clocks differ."""
    over = Login(Principal("alice"), 999)
    sasl = SaslAuthentication(
        {"OAUTHBEARER": lambda: OAuthBearerExchange(lambda _: over)}, 0, lambda _: None
    )
    sasl.begin("OAUTHBEARER", 1000)

    _, lifetime_ms = sasl.answer(OAuthBearerResponse("token").encode(), 1000)

    assert lifetime_ms == 1  # 0 would be a session without an end
    assert not sasl.allows(ApiKey.PRODUCE, 1000)
    assert sasl.allows(ApiKey.SASL_HANDSHAKE, 1000)


def test_a_credential_without_a_salt_lets_nobody_in() -> None:
    credential = ScramCredential.from_salted_password(
        ScramMechanism.SCRAM_SHA_256, b"salted", b"", 4096
    )
    exchange = ScramExchange(lambda _: credential, "nonce")

    with pytest.raises(LoginRefusedError) as caught:
        exchange.answer(ClientFirst(username="alice", nonce="abc").encode())

    assert caught.value.reason == "the credential cannot be used: salt is empty"


def test_a_login_counts_as_one_by_a_delegation_token_until_the_next() -> None:
    by_token = [True, False]
    sasl = SaslAuthentication(
        {
            "OAUTHBEARER": lambda: OAuthBearerExchange(
                lambda _: Login(Principal("alice"), is_by_token=by_token.pop(0))
            )
        },
        60_000,
        lambda _: None,
    )
    found = []
    for now_ms in (0, 2000):
        sasl.begin("OAUTHBEARER", now_ms)
        sasl.answer(OAuthBearerResponse("token").encode(), now_ms)
        found.append(sasl.is_token_authenticated)

    assert found == [True, False]


def test_a_refused_bearer_token_is_explained_before_the_login_fails() -> None:
    side = Side()
    expired = OAuthBearerResponse(unsecured(sub="alice", exp=1)).encode()

    answer, _ = side.log_in(expired, "OAUTHBEARER")

    assert OAuthBearerFailure.decode(answer).status == "invalid_token"
    with pytest.raises(LoginRefusedError, match="invalid_token"):
        side.sasl.answer(FAILURE_SEEN, side.now_ms)


CREDENTIAL = ScramCredential.from_salted_password(
    ScramMechanism.SCRAM_SHA_256, b"salted", b"salt", 4096
)


@pytest.mark.parametrize(
    ("exchange", "token"),
    [
        (PlainExchange(USERS), PlainToken("alice", "secret", "bob")),
        (
            ScramExchange(lambda _: CREDENTIAL, "nonce"),
            ClientFirst(username="alice", nonce="abc", authzid="bob"),
        ),
        (
            OAuthBearerExchange(lambda _: Login(Principal("alice"))),
            OAuthBearerResponse("token", "bob"),
        ),
    ],
    ids=["PLAIN", "SCRAM", "OAUTHBEARER"],
)
def test_nobody_acts_for_another_user(
    exchange: SaslExchange, token: PlainToken | ClientFirst | OAuthBearerResponse
) -> None:
    with pytest.raises(LoginRefusedError, match="authorization id that is different from username"):
        exchange.answer(token.encode())

    assert exchange.login is None
