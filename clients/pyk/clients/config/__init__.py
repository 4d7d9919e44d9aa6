"""Configuration: one table of options under Kafka's names, and what is made from it.

Each name is loaded when it is first used: a producer does not need the table of consumers.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return found
