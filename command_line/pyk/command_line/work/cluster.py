"""Show a cluster."""

from __future__ import annotations

from pyk.command_line.frame.connecting import admin
from pyk.command_line.frame.output import print_facts, print_json, print_rows, wants_json
from pyk.command_line.frame.tables import Column

BROKERS = (
    Column("id", "Broker"),
    Column("host"),
    Column("port"),
    Column("rack"),
    Column("isController", "Controller"),
)


def describe() -> None:
    """Print the id of the cluster, its controller and its brokers."""
    with admin() as client:
        found = client.describe_cluster()
    brokers = [
        {
            "id": node.node_id,
            "host": node.host,
            "port": node.port,
            "rack": node.rack,
            "isController": node.node_id == found.controller_id,
        }
        for node in sorted(found.nodes, key=lambda node: node.node_id)
    ]
    facts = {"clusterId": found.cluster_id, "controllerId": found.controller_id}
    if wants_json():
        print_json({**facts, "brokers": brokers})
        return
    print_facts(facts)
    print_rows(BROKERS, brokers)
