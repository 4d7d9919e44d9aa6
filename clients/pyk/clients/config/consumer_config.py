"""The table of the consumer's options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyk.clients.config.client_config import ClientConfig
from pyk.clients.config.fetch_waits import check_fetch_wait
from pyk.clients.config.offset_reset import OffsetReset
from pyk.clients.config.option import option
from pyk.clients.config.values import (
    AlwaysTrue,
    Assignors,
    Boolean,
    Callback,
    Integer,
    OneOf,
    OptionalText,
    TextOr,
)
from pyk.clients.errors import ConfigurationError
from pyk.clients.payload import Deserializer
from pyk.runtime import slotted

ASSIGNORS = ("range", "roundrobin", "sticky", "cooperative-sticky")
# The options that mean nothing in a group protocol, and what does instead; as in Java.
MEANINGLESS = {
    "classic": (("group_remote_assignor",), "partition_assignment_strategy names the assignors"),
    "consumer": (
        ("session_timeout_ms", "heartbeat_interval_ms", "partition_assignment_strategy"),
        "brokers say how often to beat, and group_remote_assignor names the assignor",
    ),
}


@slotted.frozen(kw_only=True)
class ConsumerConfig(ClientConfig):
    """The options of :class:`~pyk.clients.Consumer`."""

    default_api_timeout_ms: int = option(
        Integer(minimum=1), 60_000, "How long a call without a timeout of its own may take."
    )
    group_id: str | None = option(
        OptionalText(),
        None,
        "The group that shares the partitions and keeps the committed offsets.",
    )
    group_instance_id: str | None = option(
        OptionalText(),
        None,
        "A name that stays the same over restarts, which then cause no rebalance.",
    )
    group_protocol: str = option(
        OneOf(("classic", "consumer")),
        "classic",
        "Who assigns partitions: a member of the group, or its coordinator (KIP-848, Kafka 4).",
    )
    group_remote_assignor: str | None = option(
        OptionalText(),
        None,
        "With group_protocol='consumer': the assignor, 'uniform' or 'range'; None leaves it to "
        "the coordinator.",
    )
    partition_assignment_strategy: tuple[str, ...] = option(
        Assignors(),
        ("range", "cooperative-sticky"),
        "How partitions are assigned: the first of these that all members of the group have.",
    )
    auto_offset_reset: str = option(
        OffsetReset(),
        "latest",
        "Where to start if no offset is committed, or it is out of range; 'none' raises, "
        "'by_duration:PT1H' starts at the first record of the last hour.",
    )
    enable_auto_commit: bool = option(
        Boolean(), True, "Commit in the background what the application has finished."
    )
    auto_commit_interval_ms: int = option(
        Integer(), 5_000, "How often to commit in the background."
    )
    max_poll_records: int = option(
        Integer(minimum=1), 500, "How many records one ``poll`` returns at most."
    )
    max_poll_interval_ms: int = option(
        Integer(minimum=1),
        300_000,
        "How long the application may go without polling before the consumer leaves.",
    )
    session_timeout_ms: int = option(
        Integer(minimum=1),
        45_000,
        "How long a member may be silent before the coordinator removes it.",
    )
    heartbeat_interval_ms: int = option(
        Integer(minimum=1), 3_000, "How often a member sends a heartbeat."
    )
    fetch_min_bytes: int = option(
        Integer(), 1, "How many bytes a broker gathers before it answers a fetch."
    )
    fetch_max_wait_ms: int = option(
        Integer(), 500, "How long a broker waits for ``fetch_min_bytes``."
    )
    fetch_max_bytes: int = option(
        Integer(),
        50 * 1024 * 1024,
        "How many bytes one fetch returns; a single larger batch is returned as well.",
    )
    max_partition_fetch_bytes: int = option(
        Integer(),
        1024 * 1024,
        "How many bytes one fetch returns per partition; a larger first batch comes whole.",
    )
    buffer_memory: int = option(
        Integer(),
        64 * 1024 * 1024,
        "How many bytes may be fetched ahead of the application; each node that leads assigned "
        "partitions has an equal share. An option of pyk, proposed for Kafka in KIP-81.",
    )
    max_decompressed_bytes: int = option(
        Integer(minimum=1024),
        64 * 1024 * 1024,
        "How large one batch may become when decompressed. An option of pyk, not of Kafka.",
    )
    isolation_level: str = option(
        OneOf(("read_uncommitted", "read_committed")),
        "read_uncommitted",
        "Whether to see records of transactions that are open or were aborted.",
    )
    client_rack: str | None = option(
        TextOr(None), None, "Where the client is; brokers may name a replica nearby to read from."
    )
    check_crcs: bool = option(AlwaysTrue(), True, "Check that batches arrive as they were written.")
    allow_auto_create_topics: bool = option(
        Boolean(), True, "Let brokers create a topic that is subscribed to and does not exist."
    )
    exclude_internal_topics: bool = option(
        Boolean(), True, "Keep Kafka's own topics out of what a pattern subscribes to."
    )
    key_deserializer: Deserializer | Callable[[bytes], Any] | None = option(
        Callback("deserialize"), None, "Decodes the bytes of keys; None returns the bytes."
    )
    value_deserializer: Deserializer | Callable[[bytes], Any] | None = option(
        Callback("deserialize"), None, "Decodes the bytes of values; None returns the bytes."
    )

    @property
    def reads_committed(self) -> bool:
        """Return whether records of open and aborted transactions are hidden."""
        return self.isolation_level == "read_committed"

    @classmethod
    def _completed(cls, given: dict[str, Any]) -> dict[str, Any]:
        protocol = given.get("group_protocol", "classic")
        names, instead = MEANINGLESS[protocol]
        unused = [name for name in names if name in given]
        if unused:
            raise ConfigurationError(
                f"{' and '.join(unused)} cannot be set with group_protocol={protocol!r}: {instead}"
            )
        return super()._completed(given)

    def _check(self) -> None:
        super()._check()
        if self.heartbeat_interval_ms >= self.session_timeout_ms:
            raise ConfigurationError(
                f"heartbeat_interval_ms={self.heartbeat_interval_ms} must be less than "
                f"session_timeout_ms={self.session_timeout_ms}, best a third of it"
            )
        check_fetch_wait(self.fetch_max_wait_ms, self.request_timeout_ms)
        if self.group_instance_id is not None and self.group_id is None:
            raise ConfigurationError("group_instance_id means nothing without a group_id")
        unknown = [name for name in self.partition_assignment_strategy if name not in ASSIGNORS]
        if unknown:
            raise ConfigurationError(
                f"partition_assignment_strategy names {', '.join(map(repr, unknown))}; "
                f"there are {', '.join(map(repr, ASSIGNORS))}"
            )
