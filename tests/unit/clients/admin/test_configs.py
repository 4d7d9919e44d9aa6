"""Settings are read and changed where they are kept: a broker's by that broker."""

from __future__ import annotations

from pyk.clients import AlterConfig, AlterConfigOperation, ConfigResource
from pyk.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from pyk.protocol.messages.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from pyk.runtime.virtual_time import virtual_time
from support.administering import administered


def configs_of(request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    entry = DescribeConfigsResourceResult(name="retention.ms", value="7", config_source=1)
    return DescribeConfigsResponse(
        results=[
            DescribeConfigsResult(
                resource_type=one.resource_type, resource_name=one.resource_name, configs=[entry]
            )
            for one in request.resources
        ]
    )


@virtual_time
async def test_settings_of_a_broker_are_asked_of_that_broker() -> None:
    async with administered(nodes=3) as (cluster, admin):
        cluster.on(DescribeConfigsRequest, configs_of)

        await admin.describe_configs([ConfigResource.broker(2), ConfigResource.broker(3)])

        assert {
            one.message.resources[0].resource_name: one.node_id
            for one in cluster.requests(DescribeConfigsRequest)
        } == {"2": 2, "3": 3}


@virtual_time
async def test_settings_are_found_by_resource_and_name() -> None:
    async with administered() as (cluster, admin):
        cluster.on(DescribeConfigsRequest, configs_of)
        orders = ConfigResource.topic("orders")

        found = await admin.describe_configs([orders])

        assert found[orders]["retention.ms"].value == "7"
        assert "7" not in repr(found[orders]["retention.ms"])


@virtual_time
async def test_settings_are_changed_one_by_one() -> None:
    async with administered() as (cluster, admin):
        orders = ConfigResource.topic("orders")
        done = AlterConfigsResourceResponse(resource_type=2, resource_name="orders")
        cluster.on(
            IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse(responses=[done])
        )

        await admin.incremental_alter_configs(
            {
                orders: [
                    AlterConfig("retention.ms", "7"),
                    AlterConfig("cleanup.policy", operation=AlterConfigOperation.DELETE),
                ]
            }
        )

        (resource,) = cluster.requests(IncrementalAlterConfigsRequest)[0].message.resources
        assert [(one.name, one.config_operation, one.value) for one in resource.configs] == [
            ("retention.ms", 0, "7"),
            ("cleanup.policy", 1, None),
        ]
