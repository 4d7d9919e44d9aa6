"""Subscriptions to metrics of clients are part of the metadata log."""

from __future__ import annotations

from pyk.clients import Admin, AlterConfig, ConfigResource, ConfigResourceType
from pyk.reference_broker import Cluster


def test_a_subscription_survives_that_the_broker_is_killed() -> None:
    subscription = ConfigResource(ConfigResourceType.CLIENT_METRICS, "some")
    with Cluster() as cluster:
        with Admin(cluster.bootstrap) as admin:
            admin.incremental_alter_configs({subscription: [AlterConfig("metrics", "a.")]})
        cluster.kill()
        cluster.start()
        with Admin(cluster.bootstrap) as admin:
            listed = admin.list_config_resources([ConfigResourceType.CLIENT_METRICS])
            described = admin.describe_configs([subscription])[subscription]

    assert list(listed) == [subscription]
    assert described["metrics"].value == "a."
    assert described["interval.ms"].value == "300000"
