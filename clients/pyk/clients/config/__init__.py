"""Configuration: one table of options under Kafka's names, and what is made from it.

Each name is loaded when it is first used: a producer does not need the table of consumers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyk.runtime.first_use import loaded_on_first_use

if TYPE_CHECKING:
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

_HOMES = {
    "AdminConfig": "client_config",
    "AdminOptions": "keyword_arguments",
    "ClientConfig": "client_config",
    "ClientOptions": "keyword_arguments",
    "ConsumerConfig": "consumer_config",
    "ConsumerOptions": "keyword_arguments",
    "Option": "option",
    "ProducerConfig": "producer_config",
    "ProducerOptions": "keyword_arguments",
    "ServerAddress": "values",
    "ShareConsumerConfig": "share_consumer_config",
    "ShareConsumerOptions": "keyword_arguments",
}

__getattr__ = loaded_on_first_use(globals(), _HOMES)
