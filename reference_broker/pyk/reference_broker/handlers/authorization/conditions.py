"""What a client must be allowed to do for a request as a whole."""

from __future__ import annotations

from collections.abc import Callable

from pyk.protocol.acls import AclOperation, ResourceType
from pyk.protocol.errors import ErrorCode

from .call import Call

Condition = Callable[[Call], ErrorCode]
"""Returns why a request is refused, NONE if it is not."""

FIRST_VERSION_OF_ADD_BY_BROKERS = 4
FIRST_VERSION_OF_FIND_IN_BATCHES = 4
FIRST_VERSION_OF_FIND_SHARE_GROUPS = 6
GROUPS, TRANSACTIONAL_IDS, SHARE_GROUPS = range(3)


def on_cluster(*operations: AclOperation) -> Condition:
    """Return the condition that one of these operations on the cluster is allowed.

    Only the last one is asked for: the others are more than is needed.
    """
    *others, last = operations

    def condition(call: Call) -> ErrorCode:
        may = call.access.may_on_cluster
        if any(may(other, is_asked_for=False) for other in others) or may(last):
            return ErrorCode.NONE
        return ErrorCode.CLUSTER_AUTHORIZATION_FAILED

    return condition


def on_group(operation: AclOperation) -> Condition:
    """Return the condition that an operation on the group of a request is allowed."""
    return lambda call: group_refusal(call, operation, call.request.group_id)


def share_group(call: Call) -> ErrorCode:
    """Return why a member of a share group is refused; a missing group is up to the handler."""
    if call.request.group_id is None:
        return ErrorCode.NONE
    return group_refusal(call, AclOperation.READ, call.request.group_id)


def on_transactional_id(operation: AclOperation) -> Condition:
    """Return the condition that an operation on the transactional id of a request is allowed."""
    return lambda call: transactional_id_refusal(call, operation, call.request.transactional_id)


def group_refusal(call: Call, operation: AclOperation, group_id: str) -> ErrorCode:
    """Return GROUP_AUTHORIZATION_FAILED unless the client may do this to the group."""
    if call.access.may(operation, ResourceType.GROUP, group_id):
        return ErrorCode.NONE
    return ErrorCode.GROUP_AUTHORIZATION_FAILED


def transactional_id_refusal(
    call: Call, operation: AclOperation, transactional_id: str
) -> ErrorCode:
    """Return TRANSACTIONAL_ID_AUTHORIZATION_FAILED unless the client may do this to the id."""
    if call.access.may(operation, ResourceType.TRANSACTIONAL_ID, transactional_id):
        return ErrorCode.NONE
    return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def produce_transaction(call: Call) -> ErrorCode:
    """Allow transactional records to those who may write with the transactional id."""
    transactional_id = call.request.transactional_id
    if transactional_id is None:
        return ErrorCode.NONE  # the handler refuses transactional records without an id
    from pyk.reference_broker.handlers.produce import transactional_producers

    if not transactional_producers(call.request):
        return ErrorCode.NONE
    return transactional_id_refusal(call, AclOperation.WRITE, transactional_id)


def init_producer(call: Call) -> ErrorCode:
    """Allow a transactional producer by its id, others by what they may write (KIP-679)."""
    request, access = call.request, call.access
    if request.transactional_id is not None:
        code = transactional_id_refusal(call, AclOperation.WRITE, request.transactional_id)
        if code or not request.enable2_pc:
            return code
        return transactional_id_refusal(
            call, AclOperation.TWO_PHASE_COMMIT, request.transactional_id
        )
    if access.may_on_cluster(AclOperation.IDEMPOTENT_WRITE, is_asked_for=False):
        return ErrorCode.NONE
    if access.may_on_any(AclOperation.WRITE, ResourceType.TOPIC):
        return ErrorCode.NONE
    return ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def add_partitions(call: Call) -> ErrorCode:
    """Allow brokers to add partitions for others, clients to add some to their own transaction."""
    if call.version >= FIRST_VERSION_OF_ADD_BY_BROKERS:
        return on_cluster(AclOperation.CLUSTER_ACTION)(call)
    transactional_id = call.request.v3_and_below_transactional_id
    return transactional_id_refusal(call, AclOperation.WRITE, transactional_id)


def find_coordinator(call: Call) -> ErrorCode:
    """Allow to look for the coordinator of one key, or for those of share groups."""
    request = call.request
    if request.key_type == SHARE_GROUPS and call.version >= FIRST_VERSION_OF_FIND_SHARE_GROUPS:
        return on_cluster(AclOperation.CLUSTER_ACTION)(call)
    if call.version >= FIRST_VERSION_OF_FIND_IN_BATCHES:
        return ErrorCode.NONE
    return coordinator_refusal(call, request.key)


def coordinator_refusal(call: Call, key: str) -> ErrorCode:
    """Return why a client may not know of the coordinator of a key, NONE if it may."""
    if call.request.key_type == GROUPS:
        return group_refusal(call, AclOperation.DESCRIBE, key)
    if call.request.key_type == TRANSACTIONAL_IDS:
        return transactional_id_refusal(call, AclOperation.DESCRIBE, key)
    return ErrorCode.NONE
