"""The page of options is generated from the tables: run this file to write it again."""

from __future__ import annotations

from pathlib import Path

from pyk.clients.config import (
    AdminConfig,
    ClientConfig,
    ConsumerConfig,
    Option,
    ProducerConfig,
    ShareConsumerConfig,
)
from pyk.clients.config.kafka_names import WITHOUT_EFFECT
from pyk.clients.config.security_options import SecurityOptions

PAGE = Path(__file__).resolve().parents[2] / "docs" / "configuration.md"
INTRODUCTION = """\
# Configuration

Options are keyword arguments under Kafka's own names, with `_` for `.`: `linger.ms` is `linger_ms`.
`bootstrap_servers` comes first. `from_properties` reads Kafka's names from a properties file or a
mapping, and keyword arguments beside it win:

```python
from pyk.clients import Producer

with Producer("localhost:9092", linger_ms=20, compression_type="zstd") as producer:
    producer.send("payments", b"42")

settings = {"bootstrap.servers": "localhost:9092", "linger.ms": "20"}
with Producer.from_properties(settings, compression_type="zstd") as producer:
    producer.send("payments", b"43")
```

A file of a Java client works as it is: Kafka's names that have no effect here, and names of the
other clients, are taken with one warning in the log that says why (the last table). Java's
serializers and assignors become their twins in pyk. An unknown name is an error that suggests the
right one. Times are in milliseconds, sizes in bytes. This page is written from the tables in
`pyk.clients.config`.
"""
HEAD = "| option | default | valid | what it is for |\n| --- | --- | --- | --- |\n"


def row(option: Option) -> str:
    default = "" if option.name == "bootstrap_servers" else f"`{option.default!r}`"
    doc = option.doc.replace("``", "`")
    return f"| `{option.name}` | {default} | {option.kind.describe()} | {doc} |\n"


def section(title: str, config: type[SecurityOptions], without: type[SecurityOptions]) -> str:
    """Return the section of the options that only this client has."""
    common = without.options() if without is not config else {}
    rows = [row(one) for name, one in config.options().items() if common.get(name) != one]
    return f"\n## {title}\n\n{HEAD}{''.join(rows)}"


def names_without_effect() -> str:
    """Return Kafka's configurations that are accepted without effect, by the reason."""
    names: dict[str, list[str]] = {}
    for name, reason in WITHOUT_EFFECT.items():
        names.setdefault(reason, []).append(f"`{name.replace('_', '.')}`")
    rows = [f"| {reason} | {' '.join(some)} |\n" for reason, some in names.items()]
    return f"\n## Taken without effect\n\n| because | names |\n| --- | --- |\n{''.join(rows)}"


def page() -> str:
    return (
        INTRODUCTION
        + section("All clients", ClientConfig, SecurityOptions)
        + section("Security of all clients", SecurityOptions, SecurityOptions)
        + section("Producer", ProducerConfig, ClientConfig)
        + section("Consumer", ConsumerConfig, ClientConfig)
        + section("Share consumer", ShareConsumerConfig, ClientConfig)
        + section("Admin", AdminConfig, ClientConfig)
        + names_without_effect()
    )


def test_the_page_of_options_matches_the_tables() -> None:
    assert PAGE.read_text() == page(), f"run python {Path(__file__).name} in tests/docs"


if __name__ == "__main__":
    PAGE.write_text(page())
