"""All broker configurations of Apache Kafka, as a table that the reference broker ships.

``PYTHONPATH=tests python -m support.kafka_broker_configs`` writes it again, from what a running
Apache Kafka answers to DescribeConfigs. Needs Java and Maven.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pyk.reference_broker.config
from pyk.protocol.messages import incremental_alter_configs as alter
from pyk.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from pyk.reference_broker.config import ConfigType
from support.apache_kafka import VERSION, ApacheKafka
from support.raw_client import RawClient

TABLE = Path(pyk.reference_broker.config.__file__).with_name("kafka_broker_configs.tsv")
BROKER, SET, DEFAULT_CONFIG = 4, 0, 5
HEAD = f"""\
# The broker configurations of Apache Kafka {VERSION}: name, type, default, how it can change.
# Written by tests/support/kafka_broker_configs.py. A default of \\N is null.
"""


async def describe(client: RawClient) -> list[Any]:
    """Return a broker's description of its own configurations."""
    broker = DescribeConfigsResource(
        resource_type=BROKER, resource_name="0", configuration_keys=None
    )
    request = DescribeConfigsRequest(resources=[broker], include_synonyms=True)
    configs: list[Any] = (await client.ask(request)).results[0].configs
    return configs


def default_of(entry: Any) -> str | None:
    """Return Kafka's own default, independent of how the broker was started."""
    defaults = [each.value for each in entry.synonyms if each.source == DEFAULT_CONFIG]
    if entry.config_source == DEFAULT_CONFIG and not defaults:
        defaults = [entry.value]
    found: str | None = defaults[-1] if defaults else None
    return found


async def update_mode(client: RawClient, entry: Any) -> str:
    """Return how a configuration can change: Kafka refuses some for all brokers at once."""
    if entry.read_only:
        return "read-only"
    change = alter.AlterableConfig(
        name=entry.name, config_operation=SET, value=default_of(entry) or "1"
    )
    everywhere = alter.AlterConfigsResource(
        resource_type=BROKER, resource_name="", configs=[change]
    )
    request = alter.IncrementalAlterConfigsRequest(resources=[everywhere], validate_only=True)
    message = (await client.ask(request)).responses[0].error_message or ""
    is_per_broker = "default cluster level" in message or "only per-listener" in message
    return "per-broker" if is_per_broker else "cluster-wide"


async def rows(bootstrap: str) -> list[str]:
    async with RawClient(bootstrap) as client:
        found = []
        for entry in await describe(client):
            default = default_of(entry)
            fields = (
                entry.name,
                ConfigType(entry.config_type).name.lower(),
                "\\N" if default is None else default,
                await update_mode(client, entry),
            )
            found.append("\t".join(fields) + "\n")
        return sorted(found)


def main() -> None:
    with ApacheKafka() as kafka:
        table = asyncio.run(rows(kafka.bootstrap))
    TABLE.write_text(HEAD + "".join(table))
    print(f"{len(table)} configurations in {TABLE}")


if __name__ == "__main__":
    main()
