"""Handle records side by side: what ``process()`` of the consumers does."""

from pyk.clients.processing.attempt import Attempt, current_attempt
from pyk.clients.processing.replay import replay_dead_letters
from pyk.clients.processing.results import ProducerRecord
from pyk.clients.processing.retries import RetryPolicy

__all__ = ["Attempt", "ProducerRecord", "RetryPolicy", "current_attempt", "replay_dead_letters"]
