"""Configuration: one table of options under Kafka's names, and what is made from it."""

from __future__ import annotations

from pyk.clients.config.client_config import AdminConfig, ClientConfig
from pyk.clients.config.consumer_config import ConsumerConfig
from pyk.clients.config.keyword_arguments import (
    AdminOptions,
    ClientOptions,
    ConsumerOptions,
    ProducerOptions,
    ShareConsumerOptions,
)
from pyk.clients.config.option import Option
from pyk.clients.config.producer_config import ProducerConfig
from pyk.clients.config.share_consumer_config import ShareConsumerConfig
from pyk.clients.config.values import ServerAddress

__all__ = [
    "AdminConfig",
    "AdminOptions",
    "ClientConfig",
    "ClientOptions",
    "ConsumerConfig",
    "ConsumerOptions",
    "Option",
    "ProducerConfig",
    "ProducerOptions",
    "ServerAddress",
    "ShareConsumerConfig",
    "ShareConsumerOptions",
]
