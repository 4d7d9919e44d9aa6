"""The services of a running broker for its handlers."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING
from uuid import UUID

from pyk.runtime.clock import Clock
from pyk.runtime.timers import Moment

from .broker_channels import BrokerChannels
from .broker_configs import BrokerConfigs
from .controller.image import MetadataImage
from .controller.names import INTERNAL_TOPICS
from .controller_channel import ControllerChannel
from .coordinator.shards import Shards
from .network.limits import LogLimiter
from .producer_ids import ProducerIds
from .replicas import Replicas
from .storage import StorageError
from .topic_creation import TopicCreator
from .waiting_requests import WaitingRequests

if TYPE_CHECKING:
    from .broker_loggers import BrokerLoggers
    from .client_metrics.telemetry import Telemetry
    from .handlers.fetch_session import FetchSessions
    from .internal_topics import InternalTopics
    from .quotas.client_quotas import ClientQuotas
    from .security.authorizer import Authorizer
    from .share.share_service import ShareService
    from .share_persister import SharePersister

log = logging.getLogger(__name__)


class BrokerServices:
    """All services of one broker, of which each handler sees those that it declares.

    A handler's first argument is a ``Protocol`` with the services that it uses, so its signature
    says what it can touch, and a test may give it just that.
    """

    def __init__(
        self,
        *,
        node_id: int,
        cluster_id: str,
        clock: Clock,
        moment: Callable[[], Moment],
        new_session_id: Callable[[], int],
        new_uuid: Callable[[], UUID],
        image: MetadataImage,
        configs: BrokerConfigs,
        replicas: Replicas,
        shards: Shards,
        controller: ControllerChannel,
        waiting: WaitingRequests,
        channels: BrokerChannels,
        share_persister: Callable[[], SharePersister],
        authorizer: Authorizer | None,
    ) -> None:
        self.node_id = node_id
        self.cluster_id = cluster_id
        self.image = image
        self.configs = configs
        self.replicas = replicas
        self.shards = shards
        self.internal_topics = INTERNAL_TOPICS | set(shards.kinds)
        self.controller = controller
        self.topics = TopicCreator(controller, configs, shards.kinds)
        self.producer_ids = ProducerIds(controller, node_id)
        self.waiting = waiting
        self.channels = channels
        self._share_persister = share_persister
        self.authorizer = authorizer
        """What decides who may do what; None if everybody may do everything."""
        self.moment = moment
        self.now = clock.now
        self.time_ms = clock.time_ms
        self._new_session_id = new_session_id
        self._new_uuid = new_uuid
        self._disk_errors = LogLimiter(log, clock.now)

    @cached_property
    def fetch_sessions(self) -> FetchSessions:
        """All fetch sessions, made with the first fetch: a broker must start fast."""
        from .handlers.fetch_session import FetchSessions

        return FetchSessions(
            self.configs.broker.max_incremental_fetch_session_cache_slots,
            self._new_session_id,
        )

    @cached_property
    def share_persister(self) -> SharePersister:
        """The way to the coordinators of share groups' state."""
        return self._share_persister()

    @cached_property
    def share(self) -> ShareService:
        """The share groups at this broker, made with the first request of a member."""
        from .share.share_service import ShareService

        return ShareService(
            image=self.image,
            configs=self.configs,
            replicas=self.replicas,
            waiting=self.waiting,
            persister=self.share_persister,
            moment=self.moment,
        )

    @cached_property
    def internal_topics_of_streams(self) -> InternalTopics:
        """The topics that streams groups have being created, made with the first one."""
        from .internal_topics import InternalTopics

        return InternalTopics(self.time_ms)

    @cached_property
    def loggers(self) -> BrokerLoggers:
        """The loggers of the broker, whose levels may change."""
        from .broker_loggers import BrokerLoggers

        return BrokerLoggers(logging.getLogger("pyk.reference_broker"))

    def close(self) -> None:
        """Undo what a broker leaves in its process."""
        if "loggers" in vars(self):
            self.loggers.restore()

    @cached_property
    def telemetry(self) -> Telemetry:
        """What clients push of their metrics, made with the first request about them."""
        from .client_metrics.telemetry import Telemetry

        return Telemetry(self.image, self.configs.broker.telemetry_max_bytes, self._new_uuid)

    @cached_property
    def quotas(self) -> ClientQuotas:
        """The quotas of clients, made with the first request after one was set."""
        from .quotas.client_quotas import ClientQuotas, QuotaWindows

        config = self.configs.broker
        return ClientQuotas(
            self.image.client_quotas,
            QuotaWindows(config.quota_window_num, config.quota_window_size_seconds * 1000),
            QuotaWindows(
                config.controller_quota_window_num,
                config.controller_quota_window_size_seconds * 1000,
            ),
        )

    def note_error(self, error: Exception) -> None:
        """Log that a partition could not be read or written, if the disk is to blame."""
        if isinstance(error, StorageError):
            self._disk_errors.warning("%s", error.message)
