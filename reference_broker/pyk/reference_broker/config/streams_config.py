"""The broker configurations of streams groups (KIP-1071), with Kafka's names and defaults."""

from __future__ import annotations

from pyk.reference_broker.config.definition import UpdateMode, integer
from pyk.reference_broker.config.share_config import ShareConfig
from pyk.runtime import slotted


@slotted.frozen(kw_only=True)
class StreamsConfig(ShareConfig):
    """What a broker has configured for streams groups, a part of its configurations.

    A class with slots can have one base only, so the parts follow each other.
    """

    group_streams_assignment_interval_ms: int = integer(
        1_000,
        minimum=0,
        update_mode=UpdateMode.CLUSTER_WIDE,
        doc="How far apart two assignments of a streams group are at least.",
    )
    group_streams_heartbeat_interval_ms: int = integer(
        5_000, minimum=1, doc="How often members of streams groups send heartbeats."
    )
    group_streams_initial_rebalance_delay_ms: int = integer(
        3_000,
        minimum=0,
        doc="How long the first assignment of an empty streams group waits for more members.",
    )
    group_streams_max_assignment_interval_ms: int = integer(
        15_000, minimum=0, doc="The longest assignment interval a streams group may have."
    )
    group_streams_max_heartbeat_interval_ms: int = integer(
        15_000, minimum=1, doc="The longest heartbeat interval a streams group may have."
    )
    group_streams_max_session_timeout_ms: int = integer(
        60_000, minimum=1, doc="The longest session timeout a streams group may have."
    )
    group_streams_max_size: int = integer(
        (1 << 31) - 1, minimum=1, doc="How many members one streams group may have."
    )
    group_streams_max_standby_replicas: int = integer(
        2, minimum=0, doc="How many standby tasks a streams group may have for each task."
    )
    group_streams_min_assignment_interval_ms: int = integer(
        0, minimum=0, doc="The shortest assignment interval a streams group may have."
    )
    group_streams_min_heartbeat_interval_ms: int = integer(
        5_000, minimum=1, doc="The shortest heartbeat interval a streams group may have."
    )
    group_streams_min_session_timeout_ms: int = integer(
        45_000, minimum=1, doc="The shortest session timeout a streams group may have."
    )
    group_streams_num_standby_replicas: int = integer(
        0, minimum=0, doc="How many standby tasks each task of a streams group has."
    )
    group_streams_session_timeout_ms: int = integer(
        45_000,
        minimum=1,
        doc="After how long without a heartbeat a member of a streams group is removed.",
    )
