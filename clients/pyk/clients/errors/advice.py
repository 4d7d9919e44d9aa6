"""What to do about failures, in words that ``pyk doctor`` shares with errors of clients. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from pyk.protocol.errors import ErrorCode

NAMED_BY_BROKER = "the broker itself names this address"
CORRECT_LISTENERS = "if clients cannot reach it, correct the broker's advertised.listeners"
START_REPLICAS = "start the brokers that have its replicas"
LEADERLESS = f"has no known leader; if that lasts, {START_REPLICAS}"
RESTORE_REPLICAS = (
    "start the brokers that have the other replicas, or lower min.insync.replicas of the topic"
)

ADVICE: Mapping[int, str] = {
    ErrorCode.LEADER_NOT_AVAILABLE: f"if that lasts, {START_REPLICAS}",
    ErrorCode.NOT_ENOUGH_REPLICAS: RESTORE_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: RESTORE_REPLICAS,
}
"""By the code of a broker's error; ACLs are in :mod:`pyk.clients.errors.needed_acls`."""
