"""The table of the share consumer's options."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Self

from pyk.clients.config.client_config import ClientConfig, Given
from pyk.clients.config.fetch_waits import check_fetch_wait
from pyk.clients.config.option import option
from pyk.clients.config.values import (
    AlwaysTrue,
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

ASSIGNED = "the coordinator assigns partitions, and several members may have the same one"
ACKNOWLEDGED = "records are acknowledged, see share_acknowledgement_mode; there is no offset"
# Options of consumers that mean something else in a share group, or nothing; as in Java.
REFUSED = {
    "auto_offset_reset": "set the config share.auto.offset.reset of the group",
    "isolation_level": "set the config share.isolation.level of the group",
    "session_timeout_ms": "set the config share.session.timeout.ms of the group",
    "heartbeat_interval_ms": "set the config share.heartbeat.interval.ms of the group",
    "enable_auto_commit": ACKNOWLEDGED,
    "auto_commit_interval_ms": ACKNOWLEDGED,
    "group_instance_id": "members of share groups are never static: a restart moves nothing",
    "group_protocol": "a ShareConsumer is always a member of a share group",
    "group_remote_assignor": ASSIGNED,
    "partition_assignment_strategy": ASSIGNED,
}


@slotted.frozen(kw_only=True)
class ShareConsumerConfig(ClientConfig):
    """The options of :class:`~pyk.clients.ShareConsumer`."""

    default_api_timeout_ms: int = option(
        Integer(minimum=1), 60_000, "How long a call without a timeout of its own may take."
    )
    group_id: str | None = option(
        OptionalText(), None, "The share group whose members share the records; must be given."
    )
    share_acknowledgement_mode: str = option(
        OneOf(("implicit", "explicit")),
        "implicit",
        "Whether the next poll accepts the records of a poll, or each is acknowledged by a call.",
    )
    share_acquire_mode: str = option(
        OneOf(("batch_optimized", "record_limit")),
        "batch_optimized",
        "Whether whole batches are acquired, or never more than ``max_poll_records`` (Kafka 4.2).",
    )
    max_poll_records: int = option(
        Integer(minimum=1), 500, "How many records one ``poll`` returns at most."
    )
    max_poll_interval_ms: int = option(
        Integer(minimum=1),
        300_000,
        "How long the application may go without polling before the consumer leaves.",
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
    max_decompressed_bytes: int = option(
        Integer(minimum=1024),
        64 * 1024 * 1024,
        "How large one batch may become when decompressed. An option of pyk, not of Kafka.",
    )
    client_rack: str | None = option(TextOr(None), None, "Where the client is.")
    check_crcs: bool = option(AlwaysTrue(), True, "Check that batches arrive as they were written.")
    allow_auto_create_topics: bool = option(
        Boolean(), True, "Let brokers create a topic that is subscribed to and does not exist."
    )
    key_deserializer: Deserializer | Callable[[bytes], Any] | None = option(
        Callback("deserialize"), None, "Decodes the bytes of keys; None returns the bytes."
    )
    value_deserializer: Deserializer | Callable[[bytes], Any] | None = option(
        Callback("deserialize"), None, "Decodes the bytes of values; None returns the bytes."
    )

    @property
    def is_explicit(self) -> bool:
        """Return whether the application acknowledges each record by a call."""
        return self.share_acknowledgement_mode == "explicit"

    @property
    def limits_records(self) -> bool:
        """Return whether no more records are acquired than one poll returns."""
        return self.share_acquire_mode == "record_limit"

    @classmethod
    def _build(cls, given: Iterable[Given]) -> Self:
        every = list(given)
        refused = [f"{one.written}: {REFUSED[one.name]}" for one in every if one.name in REFUSED]
        if refused:
            raise ConfigurationError(
                f"options that do not apply to share groups: {'; '.join(refused)}"
            )
        return super()._build(every)

    def _check(self) -> None:
        super()._check()
        if self.group_id is None:
            raise ConfigurationError("group_id must be given: the name of the share group")
        check_fetch_wait(self.fetch_max_wait_ms, self.request_timeout_ms)
