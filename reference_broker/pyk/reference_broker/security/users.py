"""The users that a cluster is started with: PLAIN and SCRAM take the same password. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pyk.protocol.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest
from pyk.protocol.sasl import MIN_ITERATIONS, ScramCredential, ScramMechanism, salted_password
from pyk.protocol.sasl.jaas import jaas_entry
from pyk.reference_broker.controller.scram_requests import find_credential, upsertion

from .principal import INTER_BROKER_USER

if TYPE_CHECKING:
    from pyk.reference_broker.controller.image import MetadataImage

MECHANISMS = ("PLAIN", *(mechanism.value for mechanism in ScramMechanism))
_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"


def plain_jaas_config(users: Mapping[str, str], inter_broker_password: str) -> str:
    """Return ``sasl.jaas.config`` of PLAIN for these users, and for brokers among themselves."""
    options = {
        "username": INTER_BROKER_USER,
        "password": inter_broker_password,
        **{f"user_{name}": password for name, password in users.items()},
        f"user_{INTER_BROKER_USER}": inter_broker_password,
    }
    return jaas_entry(_MODULE, options)


def scram_credentials(
    image: MetadataImage,
    users: Mapping[str, str],
    mechanism: ScramMechanism,
    new_salt: Callable[[], bytes],
) -> AlterUserScramCredentialsRequest:
    """Return the request that gives users the SCRAM credentials that they do not have yet."""
    return AlterUserScramCredentialsRequest(
        upsertions=[
            upsertion(
                user,
                mechanism,
                salted_password(mechanism, password, salt := new_salt(), MIN_ITERATIONS),
                salt,
                MIN_ITERATIONS,
            )
            for user, password in users.items()
            if not _has(image, user, mechanism, password)
        ]
    )


def _has(image: MetadataImage, user: str, mechanism: ScramMechanism, password: str) -> bool:
    known = find_credential(image, mechanism, user)
    if known is None:
        return False
    salted = salted_password(mechanism, password, known.salt, known.iterations)
    again = ScramCredential.from_salted_password(mechanism, salted, known.salt, known.iterations)
    return again == known
