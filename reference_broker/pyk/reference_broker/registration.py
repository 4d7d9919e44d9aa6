"""A broker registers with the controller: from then on clients see it."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    Feature,
    Listener,
)

from .awaiting import value_of
from .controller.features import FEATURES
from .controller_channel import ControllerChannel
from .listeners import Endpoint
from .storage import StorageError


async def register(
    controller: ControllerChannel,
    *,
    cluster_id: str,
    node_id: int,
    incarnation_id: UUID,
    endpoints: Iterable[Endpoint],
    rack: str | None,
    log_dirs: Iterable[UUID],
) -> int:
    """Tell the controller where clients reach this broker; return the broker's new epoch.

    ``log_dirs`` are the ids of the log directories that can be used. Raises ``StorageError`` if the
    controller could not write that down.
    """
    request = BrokerRegistrationRequest(
        broker_id=node_id,
        cluster_id=cluster_id,
        incarnation_id=incarnation_id,
        listeners=[
            Listener(
                name=each.listener, host=each.host, port=each.port, security_protocol=each.protocol
            )
            for each in endpoints
        ],
        features=[
            Feature(
                name=feature.name,
                min_supported_version=feature.lowest,
                max_supported_version=feature.highest,
            )
            for feature in FEATURES
        ],
        rack=rack,
        log_dirs=list(log_dirs),
    )
    response: BrokerRegistrationResponse = await value_of(controller.send(request))
    if response.error_code:
        code = ErrorCode(response.error_code)
        raise StorageError(f"the controller cannot register node {node_id}: {code.name}")
    return response.broker_epoch
