from __future__ import annotations

import json
import re
from itertools import chain
from typing import Any, get_type_hints
from uuid import UUID

import pytest

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.errors import ErrorCode
from pyk.protocol.registry import request_class, response_class
from pyk.reference_broker.handlers.api_versions import advertised
from pyk.reference_broker.handlers.error_responses import error_response
from pyk.reference_broker.handlers.table import SERVED, handler
from pyk.runtime.virtual_time import virtual_time
from support.acl_matrix.all_requests import REQUESTS
from support.running_brokers import running_broker

SERVED_VERSIONS = list(
    chain.from_iterable(
        [(key, version) for version in range(v.lowest, v.highest + 1)] for key, v in SERVED.items()
    )
)


@pytest.mark.parametrize("api_key", SERVED, ids=lambda key: key.api_name)
def test_every_api_of_the_table_has_a_handler(api_key: ApiKey) -> None:
    assert callable(handler(api_key))


@pytest.mark.parametrize("api_key", SERVED, ids=lambda key: key.api_name)
def test_no_version_is_served_that_the_protocol_does_not_have(api_key: ApiKey) -> None:
    # Two-phase commits (KIP-939), which Kafka 4.3 serves with unstable.api.versions.enable only.
    is_unstable = api_key is ApiKey.INIT_PRODUCER_ID
    versions = api_key.versions if is_unstable else api_key.stable_versions
    assert SERVED[api_key].lowest >= versions.lowest
    assert SERVED[api_key].highest <= versions.highest


def test_advertised_versions_are_those_served_except_for_old_produces() -> None:
    told = {each.api_key: (each.min_version, each.max_version) for each in advertised()}

    assert told.pop(ApiKey.PRODUCE) == (0, 13)
    assert told == {
        key: (v.lowest, v.highest) for key, v in SERVED.items() if key is not ApiKey.PRODUCE
    }


@pytest.mark.parametrize(
    ("api_key", "version"), SERVED_VERSIONS, ids=lambda each: getattr(each, "api_name", str(each))
)
def test_every_version_has_an_error_response(api_key: ApiKey, version: int) -> None:
    request = request_class(api_key)()

    for body in (request, None):
        response = error_response(api_key, body, ErrorCode.UNKNOWN_SERVER_ERROR, version)
        response_class(api_key).decode(response.encode(version), version)


ABOUT_NOTHING = {
    "describe all topic partitions",
    "metadata of all, version 0",
    "metadata of the cluster",
    "offset fetch of one group, version 1",
}
"""Requests whose responses have an error for each item, and that name no items."""


@pytest.mark.parametrize("name", sorted(REQUESTS.keys() - ABOUT_NOTHING))
def test_an_error_response_shows_its_error(name: str) -> None:
    asked = REQUESTS[name]
    body = request_class(asked.api_key).from_json(filled_in(asked.form), asked.version)

    response = error_response(asked.api_key, body, ErrorCode.UNKNOWN_SERVER_ERROR, asked.version)

    shown = re.findall(r'[eE]rrorCode": (-?\d+)', json.dumps(response.to_json(asked.version)))
    assert str(int(ErrorCode.UNKNOWN_SERVER_ERROR)) in shown


def filled_in(form: Any) -> Any:
    """Return the form of a request with an id in the place of each of its variables."""
    text = re.sub(r'"\$\w+_id"', f'"{UUID(int=1)}"', json.dumps(form))
    return json.loads(text)


@pytest.mark.parametrize("key", sorted(SERVED), ids=lambda key: key.api_name)
@virtual_time
async def test_a_broker_offers_every_service_that_a_handler_declares(key: ApiKey) -> None:
    declared = get_type_hints(handler(key))["services"]
    wanted = {name for each in declared.__mro__ for name in vars(each) if not name.startswith("_")}

    async with running_broker() as broker:
        assert wanted
        assert all(hasattr(broker.services, name) for name in wanted)


@pytest.mark.parametrize("key", sorted(SERVED), ids=lambda key: key.api_name)
def test_no_handler_is_given_more_than_a_protocol_of_services(key: ApiKey) -> None:
    declared = get_type_hints(handler(key))["services"]

    assert getattr(declared, "_is_protocol", False)
