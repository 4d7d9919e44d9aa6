"""The requests that the controller decides on.

The modules for whole requests are imported with the first one: a broker must start fast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyk.protocol.api_keys import ApiKey
from pyk.protocol.schema import Message
from pyk.reference_broker.coordinator.decision import Decision
from pyk.reference_broker.security.principal import ANONYMOUS, Principal
from pyk.runtime.timers import Moment

from .records import at_level
from .shard import ControllerShard
from .topics import Charge, uncharged

Decided = tuple[Message, Sequence[Message]]
"""The response to a request, and the records of the metadata log that it leads to."""


def decide(
    shard: ControllerShard,
    request: Any,
    charge: Charge = uncharged,
    requester: Principal = ANONYMOUS,
    now_ms: int = 0,
) -> tuple[Message, Decision]:
    """Return the response of the controller to a request, and what it decides.

    Requests about delegation tokens depend on who asks and on the time, in ms since 1970.
    """
    if request.api_key in _CHARGED:
        response, records = _CHARGED[request.api_key](shard, request, charge)
    elif request.api_key in _OF_REQUESTER:
        response, records = _OF_REQUESTER[request.api_key](shard, request, requester, now_ms)
    else:
        response, records = _DECIDES[request.api_key](shard, request)
    return response, _decision(shard, records)


def expire_tokens(shard: ControllerShard, moment: Moment) -> tuple[None, Decision]:
    """Remove the delegation tokens that have expired."""
    from .token_requests import sweep_tokens

    return None, _decision(shard, sweep_tokens(shard.image, moment.time_ms))


def begin_to_lead(shard: ControllerShard, bootstrap: list[Message]) -> Decision:
    """Begin a new epoch of the metadata log; a new cluster begins with ``bootstrap``."""
    from .bootstrap import first_records_of_epoch

    records = first_records_of_epoch(
        shard.quorum(), shard.image, bootstrap, shard.defaults.min_insync_replicas
    )
    return _decision(shard, records)


def begin_leader_epochs(shard: ControllerShard, node_id: int) -> tuple[None, Decision]:
    """Let a node lead its partitions in a new epoch; see :mod:`.broker_requests`."""
    from .broker_requests import begin_leader_epochs

    return None, _decision(shard, begin_leader_epochs(shard.image, node_id))


def _decision(shard: ControllerShard, records: Sequence[Message]) -> Decision:
    return Decision(list(at_level(records, shard.image.metadata_version)))


def _create_topics(shard: ControllerShard, request: Any, charge: Charge) -> Decided:
    from .topic_requests import create_topics

    return create_topics(shard.topics, request, shard.describe_topic, charge)


def _create_partitions(shard: ControllerShard, request: Any, charge: Charge) -> Decided:
    from .topic_requests import create_partitions

    return create_partitions(shard.topics, request, charge)


def _delete_topics(shard: ControllerShard, request: Any, charge: Charge) -> Decided:
    from .topic_requests import delete_topics

    return delete_topics(shard.topics, request, charge)


def _replace_configs(shard: ControllerShard, request: Any) -> Decided:
    from .config_requests import replace_configs

    return replace_configs(shard.configs, request)


def _alter_configs(shard: ControllerShard, request: Any) -> Decided:
    from .config_requests import alter_incrementally

    return alter_incrementally(shard.configs, request)


def _update_features(shard: ControllerShard, request: Any) -> Decided:
    from .feature_updates import FeatureUpdates

    updates = FeatureUpdates(
        image=shard.image,
        quorum=shard.quorum(),
        min_insync_replicas=shard.defaults.min_insync_replicas,
    )
    return updates.update(request)


def _elect_leaders(shard: ControllerShard, request: Any) -> Decided:
    from .partition_requests import elect_leaders

    return elect_leaders(shard.image, request), ()


def _alter_reassignments(shard: ControllerShard, request: Any) -> Decided:
    from .partition_requests import alter_partition_reassignments

    return alter_partition_reassignments(shard.image, request), ()


def _list_reassignments(shard: ControllerShard, request: Any) -> Decided:
    from .partition_requests import list_partition_reassignments

    return list_partition_reassignments(), ()


def _unregister_broker(shard: ControllerShard, request: Any) -> Decided:
    from .broker_requests import unregister_broker

    return unregister_broker(shard.image, request)


def _describe_quorum(shard: ControllerShard, request: Any, _: Principal, now_ms: int) -> Decided:
    from .quorum import describe_quorum

    return describe_quorum(shard.quorum(), shard.image, now_ms, request), ()


def _add_voter(shard: ControllerShard, request: Any) -> Decided:
    from .voter_requests import add_voter

    return add_voter(shard.quorum(), shard.image, request), ()


def _remove_voter(shard: ControllerShard, request: Any) -> Decided:
    from .voter_requests import remove_voter

    return remove_voter(shard.quorum(), shard.image, request), ()


def _alter_scram(shard: ControllerShard, request: Any) -> Decided:
    from .scram_requests import alter_user_scram_credentials

    return alter_user_scram_credentials(shard.image, request)


def _alter_quotas(shard: ControllerShard, request: Any) -> Decided:
    from .quota_requests import alter_client_quotas

    return alter_client_quotas(shard.image.client_quotas, request)


def _create_acls(shard: ControllerShard, request: Any) -> Decided:
    from .acl_requests import create_acls

    return create_acls(shard.image.acls, request, shard.new_uuid)


def _delete_acls(shard: ControllerShard, request: Any) -> Decided:
    from .acl_requests import delete_acls

    return delete_acls(shard.image.acls, request)


def _create_token(
    shard: ControllerShard, request: Any, requester: Principal, now_ms: int
) -> Decided:
    from .token_requests import create_token

    return create_token(
        shard.tokens, shard.image, request, requester, now_ms, new_uuid=shard.new_uuid
    )


def _renew_token(
    shard: ControllerShard, request: Any, requester: Principal, now_ms: int
) -> Decided:
    from .token_requests import renew_token

    return renew_token(shard.tokens, shard.image, request, requester, now_ms)


def _expire_token(
    shard: ControllerShard, request: Any, requester: Principal, now_ms: int
) -> Decided:
    from .token_requests import expire_token

    return expire_token(shard.tokens, shard.image, request, requester, now_ms)


def _register_broker(shard: ControllerShard, request: Any) -> Decided:
    from .broker_requests import register_broker

    return register_broker(shard.image, request)


def _heartbeat(shard: ControllerShard, request: Any) -> Decided:
    from .directory_requests import heartbeat

    return heartbeat(shard.image, request)


def _assign_replicas(shard: ControllerShard, request: Any) -> Decided:
    from .directory_requests import assign_replicas

    return assign_replicas(shard.image, request)


def _allocate_producer_ids(shard: ControllerShard, request: Any) -> Decided:
    from .broker_requests import allocate_producer_ids

    return allocate_producer_ids(shard.image, request)


_CHARGED: dict[ApiKey, Callable[[ControllerShard, Any, Charge], Decided]] = {
    ApiKey.CREATE_TOPICS: _create_topics,
    ApiKey.CREATE_PARTITIONS: _create_partitions,
    ApiKey.DELETE_TOPICS: _delete_topics,
}
_DECIDES: dict[ApiKey, Callable[[ControllerShard, Any], Decided]] = {
    ApiKey.ALTER_CONFIGS: _replace_configs,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _alter_configs,
    ApiKey.UPDATE_FEATURES: _update_features,
    ApiKey.ELECT_LEADERS: _elect_leaders,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: _alter_reassignments,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: _list_reassignments,
    ApiKey.UNREGISTER_BROKER: _unregister_broker,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _alter_scram,
    ApiKey.ALTER_CLIENT_QUOTAS: _alter_quotas,
    ApiKey.CREATE_ACLS: _create_acls,
    ApiKey.DELETE_ACLS: _delete_acls,
    ApiKey.ADD_RAFT_VOTER: _add_voter,
    ApiKey.REMOVE_RAFT_VOTER: _remove_voter,
    ApiKey.BROKER_REGISTRATION: _register_broker,
    ApiKey.BROKER_HEARTBEAT: _heartbeat,
    ApiKey.ASSIGN_REPLICAS_TO_DIRS: _assign_replicas,
    ApiKey.ALLOCATE_PRODUCER_IDS: _allocate_producer_ids,
}

_OF_REQUESTER: dict[ApiKey, Callable[[ControllerShard, Any, Principal, int], Decided]] = {
    ApiKey.CREATE_DELEGATION_TOKEN: _create_token,
    ApiKey.RENEW_DELEGATION_TOKEN: _renew_token,
    ApiKey.EXPIRE_DELEGATION_TOKEN: _expire_token,
    ApiKey.DESCRIBE_QUORUM: _describe_quorum,
}
