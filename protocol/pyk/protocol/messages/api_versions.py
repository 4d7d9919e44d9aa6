"""ApiVersions: what a broker speaks; the first request on every connection."""

from __future__ import annotations

from pyk.protocol.schema import (
    ApiKey,
    Message,
    Struct,
    array,
    boolean,
    int16,
    int32,
    int64,
    request,
    response,
    string,
    struct,
)


@request(ApiKey.API_VERSIONS, versions="0-5", flexible="3+")
class ApiVersionsRequest(Message):
    """Ask a broker which versions of which requests it accepts, before anything else is sent.

    A broker that does not know this version answers with a version 0 body and UNSUPPORTED_VERSION.
    """

    client_software_name: str = string(versions="3+", ignorable=True)
    """Letters, digits, ``.`` and ``-``, beginning and ending with a letter or digit; else
    INVALID_REQUEST."""
    client_software_version: str = string(versions="3+", ignorable=True)
    cluster_id: str | None = string(versions="5+", nullable="5+", default=None, ignorable=True)
    """The cluster that the client expects to reach; a broker of another one refuses."""
    node_id: int = int32(versions="5+", default=-1, ignorable=True)
    """The node that the client expects to reach, -1 if it does not care."""


@struct
class ApiVersion(Struct):
    """The versions of one API that a broker accepts."""

    api_key: int = int16()
    min_version: int = int16()
    max_version: int = int16()


@struct
class SupportedFeatureKey(Struct):
    """The levels of a feature that this broker's software could run."""

    name: str = string()
    min_version: int = int16()
    max_version: int = int16()


@struct
class FinalizedFeatureKey(Struct):
    """The level of a feature that the whole cluster has agreed to run."""

    name: str = string()
    max_version_level: int = int16()
    min_version_level: int = int16()


@response(ApiKey.API_VERSIONS, versions="0-5", flexible="3+")
class ApiVersionsResponse(Message):
    """Say what the broker speaks: APIs, features, and which features the cluster has switched on.

    Its header is version 0 at every version, since the client does not know yet what the broker
    can write.
    """

    error_code: int = int16()
    api_keys: list[ApiVersion] = array(ApiVersion)
    throttle_time_ms: int = int32(versions="1+", ignorable=True)
    supported_features: list[SupportedFeatureKey] = array(
        SupportedFeatureKey, versions="3+", tag=0, ignorable=True
    )
    finalized_features_epoch: int = int64(versions="3+", tag=1, default=-1, ignorable=True)
    """Grows with every change of ``finalized_features``; -1: the broker does not know them."""
    finalized_features: list[FinalizedFeatureKey] = array(
        FinalizedFeatureKey, versions="3+", tag=2, ignorable=True
    )
    zk_migration_ready: bool = boolean(versions="3+", tag=3, ignorable=True)
    """The broker could take part in a migration from ZooKeeper."""
