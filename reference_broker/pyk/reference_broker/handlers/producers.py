"""InitProducerId: identities for idempotent producers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

from .context import Reply, RequestContext

if TYPE_CHECKING:
    from pyk.reference_broker.broker import Broker


def init_producer_id(
    broker: Broker, request: InitProducerIdRequest, context: RequestContext
) -> Reply:
    """Give a producer an id that nobody had before, at epoch 0.

    Like Kafka, also where the producer had one: without a transactional id there is nothing by
    which to tell that it is the same, and a new id is as good as a new epoch (KIP-360).
    """
    if request.transactional_id is not None:
        # There are no transactions here, and no error code to say so.
        return InitProducerIdResponse(error_code=ErrorCode.INVALID_REQUEST)
    return broker.producer_ids.next_id(
        lambda producer_id: InitProducerIdResponse(producer_id=producer_id, producer_epoch=0),
        lambda code: InitProducerIdResponse(error_code=code),
    )
