"""Requests of the ACL matrix in the oldest version that is served; see :mod:`.requests`."""

from __future__ import annotations

import attrs

from pyk.protocol.api_keys import ApiKey
from support.acl_matrix.admin_requests import OF_CONFIGS, OF_SECURITY, OF_TOPICS
from support.acl_matrix.requests import (
    EPOCHS,
    GROUPS,
    OF_GROUPS,
    OF_RECORDS,
    OF_TRANSACTIONS,
    Request,
)

_NEW = OF_RECORDS | OF_GROUPS | OF_TRANSACTIONS | OF_TOPICS | OF_CONFIGS | OF_SECURITY

_SAME_FORM = {
    "produce": 3,
    "produce in a transaction": 3,
    "fetch": 4,
    "list offsets": 1,
    "delete records": 0,
    "offset commit": 2,
    "offset fetch of one group": 1,
    "heartbeat": 0,
    "list groups": 0,
    "delete groups": 0,
    "init producer id": 0,
    "init producer id of a transactional id": 0,
    "add partitions": 0,
    "add existing partitions": 0,
    "add offsets": 0,
    "end transaction": 0,
    "txn offset commit": 0,
    "list transactions": 0,
    "describe cluster": 0,
    "create topics": 2,
    "create partitions": 0,
    "delete missing topics": 1,
    "describe configs": 1,
    "alter configs": 0,
    "incremental alter configs": 0,
    "describe client quotas": 0,
    "alter client quotas": 0,
    "describe acls": 1,
    "create acls": 1,
    "delete acls": 1,
}
"""Requests that look the same in a version of long ago."""

_OTHER_FORM = {
    "metadata of all": Request(ApiKey.METADATA, 0, {"topics": []}),
    # No topic is missing: this version would create it.
    "metadata": Request(
        ApiKey.METADATA,
        0,
        {"topics": [{"name": name} for name in ("orders", "secrets", "public", "private")]},
    ),
    "find group coordinator": Request(ApiKey.FIND_COORDINATOR, 0, {"key": "readers"}),
    "describe groups": Request(ApiKey.DESCRIBE_GROUPS, 0, {"groups": [*GROUPS, "missing"]}),
    "leave group": Request(ApiKey.LEAVE_GROUP, 0, {"groupId": "readers", "memberId": "nobody"}),
    "sync group": Request(
        ApiKey.SYNC_GROUP, 0, {"groupId": "readers", "generationId": 1, "memberId": "nobody"}
    ),
    "offset for leader epoch": Request(ApiKey.OFFSET_FOR_LEADER_EPOCH, 2, {"topics": EPOCHS}),
}

OLD: dict[str, Request] = {
    f"{name}, version {request.version}": request
    for name, request in (
        *((name, attrs.evolve(_NEW[name], version=old)) for name, old in _SAME_FORM.items()),
        *_OTHER_FORM.items(),
    )
}
