"""Quotas are altered at the controller, and described by any broker."""

from __future__ import annotations

from typing import Any

import pytest

from pyk.clients import (
    AsyncAdmin,
    ClientQuotaAlteration,
    ClientQuotaEntity,
    ClientQuotaFilter,
    ClientQuotaFilterComponent,
)
from pyk.clients.errors import InvalidRequestError, SeveralErrors, UnsupportedVersionError
from pyk.protocol.errors import ErrorCode
from pyk.protocol.messages import alter_client_quotas as alter
from pyk.protocol.messages import describe_client_quotas as describe
from pyk.reference_broker import AsyncCluster
from pyk.runtime.network import MemoryNetwork
from pyk.runtime.virtual_time import current_clock, virtual_time
from support.administering import administered
from support.environments import client_options

ALICE = ClientQuotaEntity({"user": "alice"})
EACH_CLIENT_OF_ALICE = ClientQuotaEntity({"user": "alice", "client-id": None})
SLOW = {"producer_byte_rate": 1000.0}


def results(*outcomes: tuple[ClientQuotaEntity, int]) -> alter.AlterClientQuotasResponse:
    return alter.AlterClientQuotasResponse(
        entries=[
            alter.ResponseEntryData(
                error_code=code,
                error_message="no" if code else None,
                entity=[
                    alter.EntityData(entity_type=kind, entity_name=name)
                    for kind, name in entity.entries.items()
                ],
            )
            for entity, code in outcomes
        ]
    )


@virtual_time
async def test_limits_are_set_described_and_lifted_on_a_broker() -> None:
    network = MemoryNetwork()
    async with (
        AsyncCluster(clock=current_clock(), network=network) as cluster,
        AsyncAdmin(cluster.bootstrap, **client_options(network)) as admin,
    ):
        await admin.alter_client_quotas(
            [
                ClientQuotaAlteration(ALICE, {**SLOW, "request_percentage": 5}),
                ClientQuotaAlteration(EACH_CLIENT_OF_ALICE, SLOW),
            ]
        )
        of_alice = ClientQuotaFilterComponent.of_entity("user", "alice")
        everything = await admin.describe_client_quotas()
        only = await admin.describe_client_quotas(ClientQuotaFilter.contains_only([of_alice]))
        await admin.alter_client_quotas(
            ClientQuotaAlteration(ALICE, dict.fromkeys(everything[ALICE]))
        )
        left = await admin.describe_client_quotas(ClientQuotaFilter.contains([of_alice]))

    assert everything == {
        ALICE: {**SLOW, "request_percentage": 5.0},
        EACH_CLIENT_OF_ALICE: SLOW,
    }
    assert list(only) == [ALICE]
    assert left == {EACH_CLIENT_OF_ALICE: SLOW}


@virtual_time
async def test_the_controller_is_asked_for_changes() -> None:
    async with administered(nodes=3) as (cluster, admin):
        cluster.on(alter.AlterClientQuotasRequest, results((ALICE, 0)))

        await admin.alter_client_quotas(
            [ClientQuotaAlteration(ALICE, {"producer_byte_rate": None})], validate_only=True
        )

        (sent,) = cluster.requests(alter.AlterClientQuotasRequest)
        assert sent.node_id == cluster.controller_id
        assert sent.message.validate_only
        assert sent.message.entries[0].ops == [
            alter.OpData(key="producer_byte_rate", value=0.0, remove=True)
        ]


@virtual_time
async def test_each_entity_that_failed_has_its_error() -> None:
    async with administered() as (cluster, admin):
        codes = (ALICE, 0), (EACH_CLIENT_OF_ALICE, ErrorCode.INVALID_REQUEST)
        cluster.on(alter.AlterClientQuotasRequest, results(*codes))

        with pytest.raises(SeveralErrors) as caught:
            await admin.alter_client_quotas(
                [ClientQuotaAlteration(entity, SLOW) for entity, _ in codes]
            )

        assert isinstance(caught.value.errors[EACH_CLIENT_OF_ALICE], InvalidRequestError)
        assert caught.value.results == {ALICE: None}


@virtual_time
async def test_a_filter_that_brokers_do_not_take_is_an_error() -> None:
    async with administered() as (cluster, admin):
        refusal = describe.DescribeClientQuotasResponse(
            error_code=ErrorCode.UNSUPPORTED_VERSION, error_message="no", entries=None
        )
        cluster.on(describe.DescribeClientQuotasRequest, refusal)

        with pytest.raises(UnsupportedVersionError):
            await admin.describe_client_quotas(ClientQuotaFilter.all())


@virtual_time
async def test_components_match_a_name_the_default_or_any() -> None:
    component = ClientQuotaFilterComponent
    async with administered() as (cluster, admin):
        cluster.on(
            describe.DescribeClientQuotasRequest,
            describe.DescribeClientQuotasResponse(entries=[]),
        )

        await admin.describe_client_quotas(
            ClientQuotaFilter.contains(
                [
                    component.of_entity("user", "alice"),
                    component.of_default_entity("client-id"),
                    component.of_entity_type("ip"),
                ]
            )
        )

        (sent,) = cluster.requests(describe.DescribeClientQuotasRequest)
        assert [(one.match_type, one.match) for one in sent.message.components] == [
            (0, "alice"),
            (1, None),
            (2, None),
        ]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ClientQuotaEntity({}), ValueError, "must have a type and a name"),
        (lambda: ClientQuotaEntity({"group": "g"}), ValueError, "'user', 'client-id' or 'ip'"),
        (lambda: ClientQuotaEntity({"user": ""}), ValueError, "not empty"),
        (lambda: ClientQuotaEntity("alice"), TypeError, "must be a mapping"),
        (lambda: ClientQuotaAlteration(ALICE, [("a", 1)]), TypeError, "must be a mapping"),
        (lambda: ClientQuotaAlteration(ALICE, {"rate": "1"}), TypeError, "rate must be a number"),
        (lambda: ClientQuotaAlteration(ALICE, {7: 1}), TypeError, "must be a str"),
        (
            lambda: ClientQuotaFilterComponent.of_entity("user", None),
            TypeError,
            "name of an entity must be a str",
        ),
    ],
)
def test_invalid_values_say_what_is_valid(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@virtual_time
async def test_wrong_arguments_are_refused_before_anything_is_sent() -> None:
    async with administered() as (_, admin):
        with pytest.raises(TypeError, match="an alteration must be"):
            await admin.alter_client_quotas(["alice"])
        with pytest.raises(ValueError, match="altered twice"):
            await admin.alter_client_quotas([ClientQuotaAlteration(ALICE, SLOW)] * 2)
        with pytest.raises(TypeError, match="a filter must be"):
            await admin.describe_client_quotas("alice")
