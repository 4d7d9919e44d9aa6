"""The users that can log in by SCRAM (KIP-554). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import attrs

from pyk.clients.admin.fields import check_field
from pyk.clients.errors import KafkaError, error_for
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from pyk.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    UserName,
)
from pyk.protocol.sasl import MIN_ITERATIONS, ScramMechanism, salted_password
from pyk.runtime import slotted
from pyk.runtime.secret import Secret, password_of

NUMBERS = {ScramMechanism.SCRAM_SHA_256: 1, ScramMechanism.SCRAM_SHA_512: 2}
MECHANISMS = {number: mechanism for mechanism, number in NUMBERS.items()}


def mechanism_of(given: ScramMechanism | str) -> ScramMechanism:
    """Return a mechanism by its name; raise ``ValueError`` for another one."""
    try:
        return ScramMechanism(given)
    except ValueError:
        names = " or ".join(repr(one.value) for one in ScramMechanism)
        raise ValueError(f"mechanism must be {names}, not {given!r}") from None


@attrs.frozen
class ScramCredentialInfo:
    """What everybody may know of a credential; brokers take 4096 to 16384 iterations."""

    mechanism: ScramMechanism | None = attrs.field(
        default=ScramMechanism.SCRAM_SHA_512, converter=attrs.converters.optional(mechanism_of)
    )
    """None for one that this release does not know."""
    iterations: int = MIN_ITERATIONS


@slotted.frozen
class UserScramCredentialsDescription:
    """A user and its credentials."""

    name: str
    credential_infos: tuple[ScramCredentialInfo, ...]


@attrs.frozen
class UserScramCredentialUpsertion:
    """Give a user a password, instead of the one of the same mechanism that it may have.

    The password does not leave this process, only a salted hash of it. ``salt`` is random if it is
    not given.
    """

    user: str
    credential_info: ScramCredentialInfo
    password: Secret = attrs.field(converter=password_of)
    salt: bytes | None = attrs.field(default=None, repr=False)

    def __attrs_post_init__(self) -> None:
        check_field(self, "user", str)
        check_field(self, "credential_info", ScramCredentialInfo)
        if self.credential_info.mechanism is None:
            raise ValueError("a credential needs a mechanism")
        if not self.password:
            raise ValueError("password is empty")

    @property
    def mechanism(self) -> ScramMechanism:
        """The mechanism of the credential."""
        assert self.credential_info.mechanism is not None
        return self.credential_info.mechanism


@attrs.frozen
class UserScramCredentialDeletion:
    """Take the credential of a mechanism from a user."""

    user: str
    mechanism: ScramMechanism = attrs.field(converter=mechanism_of)

    def __attrs_post_init__(self) -> None:
        check_field(self, "user", str)


UserScramCredentialAlteration: TypeAlias = (
    UserScramCredentialUpsertion | UserScramCredentialDeletion
)
UserAndMechanism: TypeAlias = tuple[str, ScramMechanism]


def rounds(
    alterations: Iterable[UserScramCredentialAlteration],
) -> Iterator[list[UserScramCredentialAlteration]]:
    """Yield the alterations so that each user comes once in a round.

    Brokers refuse a request that alters two credentials of one user.
    """
    left = list(alterations)
    while left:
        first: dict[str, UserScramCredentialAlteration] = {}
        for one in left:
            first.setdefault(one.user, one)
        yield list(first.values())
        left = [one for one in left if first[one.user] is not one]


def upsertion(one: UserScramCredentialUpsertion, salt: bytes) -> ScramCredentialUpsertion:
    """Return the upsertion as it is sent; this takes some milliseconds."""
    iterations = one.credential_info.iterations
    return ScramCredentialUpsertion(
        name=one.user,
        mechanism=NUMBERS[one.mechanism],
        iterations=iterations,
        salt=salt,
        salted_password=salted_password(one.mechanism, one.password.reveal(), salt, iterations),
    )


def alter_request(
    some: Sequence[UserScramCredentialAlteration], upsertions: list[ScramCredentialUpsertion]
) -> AlterUserScramCredentialsRequest:
    return AlterUserScramCredentialsRequest(
        deletions=[
            ScramCredentialDeletion(name=one.user, mechanism=NUMBERS[one.mechanism])
            for one in some
            if isinstance(one, UserScramCredentialDeletion)
        ],
        upsertions=upsertions,
    )


def altered(
    response: AlterUserScramCredentialsResponse, some: Sequence[UserScramCredentialAlteration]
) -> dict[UserAndMechanism, KafkaError | None]:
    """Return the outcome of each alteration of a round."""
    mechanisms = {one.user: one.mechanism for one in some}
    return {
        (one.user, mechanisms[one.user]): _error(
            response.api_key, one.error_code, one.error_message, one.user
        )
        for one in response.results
        if one.user in mechanisms
    }


def describe_request(users: Sequence[str] | None) -> DescribeUserScramCredentialsRequest:
    # Empty for all, and not None: Apache Kafka 4.3 never answers that if the caller has no ACL.
    return DescribeUserScramCredentialsRequest(users=[UserName(name=user) for user in users or ()])


def described(
    response: DescribeUserScramCredentialsResponse,
) -> dict[str, UserScramCredentialsDescription | KafkaError]:
    """Return the credentials of each user, or its error; raise the error of the whole request."""
    error = _error(response.api_key, response.error_code, response.error_message)
    if error is not None:
        raise error
    return {
        one.user: _error(response.api_key, one.error_code, one.error_message, one.user)
        or UserScramCredentialsDescription(
            one.user,
            tuple(
                ScramCredentialInfo(MECHANISMS.get(info.mechanism), info.iterations)
                for info in one.credential_infos
            ),
        )
        for one in response.results
    }


def _error(
    api_key: int, error_code: int, message: str | None, user: str | None = None
) -> KafkaError | None:
    if error_code == ErrorCode.NONE:
        return None
    error = error_for(error_code, message, api_key=api_key)
    if user is not None and repr(user) not in error.args[0]:
        error.args = (f"{error.args[0]} (user {user!r})",)
    return error
