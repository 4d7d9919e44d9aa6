"""Write ``docs/broker-apis.md``: which APIs the reference broker serves, and where that is tested.

``PYTHONPATH=tests python -m docs.broker_apis`` does it again.
"""

from __future__ import annotations

from pathlib import Path

from docs.tested_apis import TESTED
from pyk.protocol.api_keys import ApiKey
from pyk.reference_broker.handlers.table import APIS
from support.acl_matrix.all_requests import REQUESTS
from support.acl_matrix.requests import EXEMPT

PAGE = Path(__file__).parents[2] / "docs" / "broker-apis.md"
COMMAND = "PYTHONPATH=tests python -m docs.broker_apis"

LIMITS = {
    ApiKey.ADD_RAFT_VOTER: "one node: refused as by Kafka for a voter that does not run",
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: "one node: nothing moves",
    ApiKey.DESCRIBE_QUORUM: "one node, the only voter; listeners of the broker",
    ApiKey.ELECT_LEADERS: "one node: no election is needed, and none helps a failed directory",
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: "as Kafka with a plug-in that takes metrics",
    ApiKey.INIT_PRODUCER_ID: "Kafka has version 6 (KIP-939) with unstable versions enabled",
    ApiKey.LIST_PARTITION_REASSIGNMENTS: "one node: nothing moves",
    ApiKey.PUSH_TELEMETRY: "as Kafka with a plug-in; the last push of each client is kept",
    ApiKey.REMOVE_RAFT_VOTER: "one node: refused as by Kafka for the only voter",
    ApiKey.SASL_HANDSHAKE: "Kafka has version 0 too, for logins without SaslAuthenticate",
}
"""In what an API differs from Apache Kafka 4.3, or what one node leaves of it."""

HEAD = """# APIs of the reference broker

Made from the code, with the versions of Apache Kafka 4.3. *Tested* names the files in `tests` that
send the request themselves or through a client, scenarios that run against both brokers first, and
how many requests of the ACL matrix (`tests/support/acl_matrix`) are of the API: their answers of
Apache Kafka 4.3.1 are in `tests/golden/acl_answers.json`.

| key | API | versions | state | tested |
| --- | --- | --- | --- | --- |
"""


def page() -> str:
    """Return the text of the page."""
    rows = {key: _served(key) for key in APIS}
    lines = [" | ".join((str(int(key)), *rows[key])) for key in sorted(rows)]
    return HEAD + "".join(f"| {line} |\n" for line in lines)


def _served(key: ApiKey) -> tuple[str, str, str, str]:
    asked = sum(request.api_key is key for request in REQUESTS.values())
    files = ", ".join(f"`{file}`" for file in TESTED[key])
    tested = f"{files}; ACL matrix: {asked or EXEMPT[key]}"
    return key.api_name, str(APIS[key].versions), LIMITS.get(key, "as Kafka"), tested


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
