"""A broker that is not there, for tests of its shards."""

from __future__ import annotations

from typing import Any

from pyk.protocol.errors import ErrorCode
from pyk.protocol.schema import Message
from pyk.reference_broker.controller.image import MetadataImage
from pyk.reference_broker.coordinator.shard_kind import BrokerEnvironment
from pyk.reference_broker.deferred import Deferred
from pyk.reference_broker.share_persister import SharePersister
from pyk.runtime.timers import Moment, TimerQueue


class NoBrokers:
    """Channels that reach nobody."""

    def send(self, node_id: int, request: Message) -> Deferred[Any]:
        response: Deferred[Any] = Deferred()
        response.complete(ErrorCode.BROKER_NOT_AVAILABLE)
        return response


def _nobody() -> SharePersister:
    raise AssertionError("no shard of these tests asks share coordinators")


def broker_environment() -> BrokerEnvironment:
    """Return what shards need of a broker, at a time that stands still."""
    return BrokerEnvironment(
        channels=NoBrokers(),
        image=MetadataImage(),
        timers=TimerQueue(lambda _: None),
        moment=lambda: Moment(0, 0),
        share_persister=_nobody,
    )
