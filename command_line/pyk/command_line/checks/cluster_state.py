"""Conclude from what brokers say of themselves: versions, controller, clock. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyk.command_line.checks.finding import Finding, failed, ok, warning
from pyk.protocol.api_keys import ApiKey
from pyk.protocol.negotiation import client_versions
from pyk.protocol.versions import NO_VERSIONS, VersionRange

NEEDED = (
    ApiKey.METADATA, ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.LIST_OFFSETS, ApiKey.FIND_COORDINATOR,
    ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_FETCH, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP,
    ApiKey.HEARTBEAT, ApiKey.LEAVE_GROUP, ApiKey.INIT_PRODUCER_ID,
)  # fmt: skip
RELEASES = (
    (ApiKey.ADD_RAFT_VOTER, "3.9"),
    (ApiKey.CONSUMER_GROUP_HEARTBEAT, "3.7"),
    (ApiKey.DESCRIBE_TRANSACTIONS, "3.0"),
    (ApiKey.DESCRIBE_CLUSTER, "2.8"),
    (ApiKey.OFFSET_DELETE, "2.4"),
    (ApiKey.INCREMENTAL_ALTER_CONFIGS, "2.3"),
    (ApiKey.DELETE_GROUPS, "1.1"),
)
"""APIs that tell how new a broker is at least: newest first."""
SKEW_MS = 60_000


def version_findings(server: str, apis: Mapping[ApiKey, VersionRange]) -> Iterator[Finding]:
    """Yield whether pyk and a broker have a version of each needed request in common."""
    missing = [
        api.api_name
        for api in NEEDED
        if (client_versions(api) & apis.get(api, NO_VERSIONS)).is_empty
    ]
    release = next((name for api, name in RELEASES if api in apis), "0.11")
    if missing:
        yield failed(
            "versions",
            server,
            f"no version in common of {', '.join(missing)}",
            "the broker is too old or too new for this client, or it is not Apache Kafka",
            "pyk needs brokers from Kafka 2.1 on",
        )
    else:
        yield ok("versions", server, f"{len(apis)} APIs, those of Kafka {release} or newer")


def controller_findings(controller_id: int, node_ids: set[int]) -> Iterator[Finding]:
    """Yield whether there is a controller to create topics by."""
    if controller_id not in node_ids:
        yield warning(
            "controller",
            "cluster",
            "the brokers name no controller",
            "topics cannot be created or changed, and leaders do not move, until there is one",
            "look at the logs of the controllers",
        )
    else:
        yield ok("controller", "cluster", f"broker {controller_id}")


def controller_clock_findings(theirs_ms: int | None, ours_ms: int) -> Iterator[Finding]:
    """Yield whether the clocks of the controller and of this machine agree."""
    if theirs_ms is None:
        return
    ahead = theirs_ms - ours_ms
    if abs(ahead) <= SKEW_MS:
        yield ok("clock", "controller", "it agrees with that of this machine")
        return
    yield warning(
        "clock",
        "controller",
        f"it is {abs(ahead) / 1000:.0f} s {'ahead of' if ahead > 0 else 'behind'} that of this "
        "machine",
        "tokens, tickets and certificates may seem expired or not valid yet, and retention and "
        "lookups by time go wrong",
        "compare the clocks (NTP) of this machine and of the brokers",
    )


def clock_findings(topic: str, newest_ms: int | None, now_ms: int) -> Iterator[Finding]:
    """Yield whether the newest record of a topic comes from the future."""
    if newest_ms is None:
        return
    ahead = newest_ms - now_ms
    if ahead > SKEW_MS:
        yield warning(
            "clock",
            topic,
            f"its newest record is {ahead / 1000:.0f} s in the future",
            "the clock of a producer, of a broker, or of this machine is wrong; retention by time "
            "and lookups by time go by these timestamps",
            "compare the clocks (NTP); message.timestamp.after.max.ms refuses such records",
        )
    else:
        yield ok("clock", topic, "no record is from the future")
