"""All requests of the ACL matrix, by name, in the order in which each user sends them."""

from __future__ import annotations

from support.acl_matrix.admin_requests import (
    OF_CONFIGS,
    OF_NEW_TOPICS,
    OF_REPLICAS,
    OF_SECURITY,
    OF_TOPICS,
)
from support.acl_matrix.old_requests import OLD
from support.acl_matrix.requests import OF_GROUPS, OF_RECORDS, OF_TRANSACTIONS, Request
from support.acl_matrix.share_requests import OF_SHARE_GROUPS
from support.acl_matrix.streams_requests import OF_STREAMS_GROUPS


def requests_of(user: str) -> dict[str, Request]:
    """Return the requests that a user sends: old versions only where they may show the most."""
    sends_old_ones = user.startswith(("rest-", "everything")) or user == "no-acls"
    return {name: one for name, one in REQUESTS.items() if sends_old_ones or name not in OLD}


REQUESTS: dict[str, Request] = (
    OF_RECORDS
    | OF_GROUPS
    | OF_SHARE_GROUPS
    | OF_STREAMS_GROUPS
    | OF_TRANSACTIONS
    | OLD
    | OF_TOPICS
    | OF_CONFIGS
    | OF_REPLICAS
    | OF_SECURITY
    | OF_NEW_TOPICS
)
