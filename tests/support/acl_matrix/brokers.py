"""Brokers for the ACL matrix: with all its users."""

from __future__ import annotations

from support.acl_matrix.users import ROOT, users
from support.guarded_brokers import GuardedApacheKafka, GuardedReferenceBroker, guarded_config


def apache_kafka() -> GuardedApacheKafka:
    """Return one node of Apache Kafka, not started."""
    unstable = {"unstable.api.versions.enable": "true"}  # version 6 of InitProducerId
    return GuardedApacheKafka(_config() | unstable)


def reference_broker() -> GuardedReferenceBroker:
    """Return one node of the reference broker, not started."""
    return GuardedReferenceBroker(_config())


def _config() -> dict[str, str]:
    return guarded_config((ROOT, *users()), [ROOT]) | {
        "delegation.token.secret.key": "key-of-tokens",
        "transaction.two.phase.commit.enable": "true",
    }
