"""Every advertised version of every API is answered with valid bytes."""

from __future__ import annotations

import pytest

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.registry import request_class
from pyk.reference_broker import AsyncCluster
from pyk.reference_broker.handlers.table import SERVED
from support.raw_client import RawClient

REQUESTS = {
    ApiKey.API_VERSIONS: {"client_software_name": "t", "client_software_version": "1"},
    ApiKey.PRODUCE: {"acks": 1},
    ApiKey.DELETE_TOPICS: {"topic_names": []},
}


@pytest.mark.parametrize("api_key", SERVED, ids=lambda key: key.api_name)
async def test_every_advertised_version_is_answered_with_valid_bytes(
    api_key: ApiKey, caplog: pytest.LogCaptureFixture
) -> None:
    async with AsyncCluster() as cluster, RawClient(cluster.bootstrap) as client:
        for version in range(SERVED[api_key].lowest, SERVED[api_key].highest + 1):
            request = request_class(api_key)(**REQUESTS.get(api_key, {}))
            await client.ask(request, version)

    assert [record for record in caplog.records if record.levelname == "ERROR"] == []
