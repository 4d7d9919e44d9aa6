"""The clients of a query, made from its ``kafka.*`` options."""

from __future__ import annotations

from pyk.clients.config import AdminConfig, ConsumerConfig
from pyk.spark_connector.client_properties import admin_properties, consumer_properties

KAFKA = {
    "bootstrap.servers": "localhost:9093",
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.jaas.config": 'x.ScramLoginModule required username="shop" password="secret";',
    "ssl.truststore.location": "/etc/ca.p12",
    "ssl.truststore.password": "secret",
    "ssl.keystore.location": "/etc/shop.p12",
    "ssl.keystore.password": "secret",
    "ssl.key.password": "secret",
    "max.poll.records": "500",
}


def test_all_clients_of_a_query_are_secured_alike() -> None:
    admin = AdminConfig.from_properties(admin_properties(KAFKA))
    consumer = ConsumerConfig.from_properties(consumer_properties(KAFKA))

    assert admin.tls_settings() == consumer.tls_settings()
    assert admin.credentials() == consumer.credentials()


def test_the_admin_client_gets_no_options_of_consumers() -> None:
    assert "max.poll.records" not in admin_properties(KAFKA)
