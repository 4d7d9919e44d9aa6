"""All that a broker asks of the controller would survive the way over a wire."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from pyk.protocol.messages.alter_configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
)
from pyk.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    Feature,
    Listener,
)
from pyk.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from pyk.protocol.messages.create_topics import CreateTopicsRequest
from pyk.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from pyk.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from pyk.protocol.registry import response_class
from pyk.reference_broker.controller_channel import LocalControllerChannel
from support.controllers import Controllers, topic
from support.groups import Waiting

REQUESTS = [
    CreateTopicsRequest(topics=[topic("new", retention_ms="1000")]),
    CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name="orders", count=4, assignments=None)]
    ),
    DeleteTopicsRequest(topics=[DeleteTopicState(name="orders")]),
    AlterConfigsRequest(
        resources=[
            AlterConfigsResource(
                resource_type=2,
                resource_name="orders",
                configs=[AlterableConfig(name="retention.ms", value="1")],
            )
        ]
    ),
    IncrementalAlterConfigsRequest(resources=[]),
    BrokerRegistrationRequest(
        broker_id=1,
        cluster_id="test",
        listeners=[Listener(name="PLAINTEXT", host="broker", port=9092)],
        features=[Feature(name="group.version", max_supported_version=1)],
        rack="a",
    ),
    AllocateProducerIdsRequest(broker_id=0, broker_epoch=3),
]


def over_a_wire(cls: Any, message: Any) -> Any:
    """Return a message as it is after it was encoded and decoded in its newest version."""
    version = cls.versions.highest
    return cls.decode(message.encode(version), version)


def sent(controllers: Controllers, request: Any) -> Any:
    return Waiting(LocalControllerChannel(controllers.runtime).send(request)).response


def controllers_with_orders() -> Controllers:
    controllers = Controllers()
    controllers.create(topic("orders"))
    return controllers


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: type(request).__name__)
def test_a_request_from_a_wire_is_decided_as_one_of_this_process(request_: Any) -> None:
    here, remote = controllers_with_orders(), controllers_with_orders()

    near = sent(here, request_)
    far = sent(remote, over_a_wire(type(request_), request_))

    assert over_a_wire(response_class(request_.api_key), far) == over_a_wire(
        response_class(request_.api_key), near
    )
    assert remote.log.batches == here.log.batches


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda request: type(request).__name__)
def test_a_controller_that_cannot_write_says_so_in_its_response(request_: Any) -> None:
    controllers = controllers_with_orders()
    controllers.log.fails_with = ErrorCode.KAFKA_STORAGE_ERROR

    response = sent(controllers, request_)

    codes = [getattr(response, "error_code", 0)] + [
        each.error_code
        for name in ("topics", "results", "responses")
        for each in getattr(response, name, ())
    ]
    is_empty = getattr(request_, "resources", None) == []
    assert is_empty or ErrorCode.KAFKA_STORAGE_ERROR in codes
