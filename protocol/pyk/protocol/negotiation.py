"""Choose the version of a request, and of its headers.

A broker says in its ApiVersions response what it speaks. A client uses the highest version that
both know, within two limits: versions that pyk's clients do not use at all, and versions that mean
transactions of KIP-890 ("transaction version 2"), which a producer may only send once the cluster
has switched that feature on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Self

from pyk.runtime import slotted

from .api_keys import ApiKey
from .errors import UnsupportedVersionError
from .versions import ALL_VERSIONS, LAST_VERSION, NO_VERSIONS, VersionRange

if TYPE_CHECKING:
    from .messages.api_versions import ApiVersionsResponse

TRANSACTION_VERSION = "transaction.version"
TRANSACTION_V2 = 2
"""The level of ``transaction.version`` from which on the versions of KIP-890 are used."""

_FOR_CLIENTS = {
    ApiKey.PRODUCE: VersionRange(3, LAST_VERSION),  # batches of magic 2 came with 3
    ApiKey.FETCH: VersionRange(4, LAST_VERSION),  # before 4 brokers convert batches down to magic 1
    ApiKey.LIST_OFFSETS: VersionRange(1, LAST_VERSION),  # 0 answers with segment starts
    ApiKey.OFFSET_COMMIT: VersionRange(2, LAST_VERSION),  # 0 commits to ZooKeeper, 1 sets times
    ApiKey.OFFSET_FETCH: VersionRange(1, LAST_VERSION),  # 0 reads from ZooKeeper
    ApiKey.ADD_PARTITIONS_TO_TXN: VersionRange(0, 3),  # from 4 on brokers verify with it
}
_BEFORE_TRANSACTION_V2 = {
    ApiKey.PRODUCE: VersionRange(0, 11),
    ApiKey.TXN_OFFSET_COMMIT: VersionRange(0, 4),
    ApiKey.END_TXN: VersionRange(0, 4),
}


@slotted.frozen
class FinalizedFeatures:
    """The levels at which a cluster runs its features, as one of its brokers has told."""

    levels: Mapping[str, int] = slotted.field(factory=dict)
    epoch: int = -1
    """Grows with every change; -1 if the broker could not tell."""

    @classmethod
    def from_response(cls, response: ApiVersionsResponse) -> Self:
        if response.finalized_features_epoch < 0:
            return cls()
        features = response.finalized_features
        return cls(
            {feature.name: feature.max_version_level for feature in features},
            response.finalized_features_epoch,
        )

    def level(self, name: str) -> int:
        """Return the level of a feature, 0 if it is off."""
        return self.levels.get(name, 0)

    def newer(self, told: FinalizedFeatures) -> FinalizedFeatures:
        """Return the newer of the two; brokers learn of a change one after the other."""
        return told if told.epoch > self.epoch else self


@slotted.frozen
class PeerVersions:
    """The API versions that a broker offers."""

    apis: Mapping[ApiKey, VersionRange]
    """APIs that pyk does not know are left out."""
    features: FinalizedFeatures = slotted.field(factory=FinalizedFeatures)

    @classmethod
    def from_response(cls, response: ApiVersionsResponse) -> Self:
        offered = {
            api.api_key: VersionRange(api.min_version, api.max_version) for api in response.api_keys
        }
        return cls(
            {key: offered[key] for key in ApiKey if key in offered},
            FinalizedFeatures.from_response(response),
        )

    def version_for(
        self,
        api_key: ApiKey,
        within: VersionRange = ALL_VERSIONS,
        *,
        transaction_version: int | None = None,
        is_transactional: bool = False,
    ) -> int:
        """Return the highest version of a request that both sides know and ``within`` allows.

        Raises UnsupportedVersionError if no version fits. ``transaction_version`` is the level that
        the sender's transaction began with, None for what this broker said. ``is_transactional``
        tells that a Produce belongs to a transaction; the other requests of transactions always do.
        A version that Kafka calls unstable is used only if ``within`` allows nothing else.
        """
        if transaction_version is None:
            transaction_version = self.features.level(TRANSACTION_VERSION)
        ours = client_versions(
            api_key, transaction_version=transaction_version, is_transactional=is_transactional
        )
        if within.lowest > api_key.stable_versions.highest:
            ours = api_key.versions
        offered = self.apis.get(api_key, NO_VERSIONS)
        common = ours & offered & within
        if common.is_empty:
            raise UnsupportedVersionError(_no_common_version(api_key, ours & within, offered))
        return common.highest


def client_versions(
    api_key: ApiKey, *, transaction_version: int = 0, is_transactional: bool = False
) -> VersionRange:
    """Return the versions of a request that pyk's clients may send, whatever the broker offers."""
    versions = api_key.stable_versions & _FOR_CLIENTS.get(api_key, ALL_VERSIONS)
    is_plain_produce = api_key is ApiKey.PRODUCE and not is_transactional
    if transaction_version >= TRANSACTION_V2 or is_plain_produce:
        return versions
    return versions & _BEFORE_TRANSACTION_V2.get(api_key, ALL_VERSIONS)


def downgraded_api_versions(response: ApiVersionsResponse) -> int:
    """Return the version of ApiVersions to ask again with, after the broker refused a higher one.

    Brokers since 2.4 say in the refusal which versions they have; older ones only speak version 0.
    """
    offered = PeerVersions.from_response(response).apis.get(ApiKey.API_VERSIONS, NO_VERSIONS)
    common = ApiKey.API_VERSIONS.stable_versions & offered
    return 0 if common.is_empty else common.highest


def request_header_version(api_key: ApiKey, version: int) -> int:
    """Return the version of the header before a request."""
    if api_key is ApiKey.CONTROLLED_SHUTDOWN and version == 0:
        return 0  # it has no client id
    return 2 if version in api_key.flexible else 1


def response_header_version(api_key: ApiKey, version: int) -> int:
    """Return the version of the header before a response."""
    if api_key is ApiKey.API_VERSIONS:
        return 0  # KIP-511: the client must be able to read it whatever the broker speaks
    return 1 if version in api_key.flexible else 0


def _no_common_version(api_key: ApiKey, ours: VersionRange, offered: VersionRange) -> str:
    if offered.is_empty:
        return f"the broker does not offer {api_key.api_name}{_needed(api_key, ours)}"
    is_older = offered.highest < ours.lowest
    needed = _needed(api_key, ours) if is_older else ""
    return f"the broker offers {api_key.api_name} versions {offered}, but {ours} are needed{needed}"


def _needed(api_key: ApiKey, versions: VersionRange) -> str:
    """Return which brokers have these versions, nothing if all that are known or none have."""
    from .releases import RELEASES, WITH_KRAFT, first_with  # only errors need the table

    release = first_with(api_key, versions)
    if release is None or release == RELEASES[0]:
        return ""
    kraft = ", with KRaft" if api_key in WITH_KRAFT else ""
    return f": that needs brokers of Apache Kafka {release} or later{kraft}"
