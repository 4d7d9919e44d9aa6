"""The state of a prepared transaction, with which any process can end it. Pure."""

from __future__ import annotations

from typing import Any

from pyk.clients.producer.sending.sequences import ProducerIdentity
from pyk.runtime import slotted

_FIELDS = ("transactional_id", "producer_id", "epoch", "version", "is_empty")


@slotted.frozen
class PreparedTransaction:
    """A transaction whose records are all written, to be ended by ``complete_transaction``.

    Keep it with what decides about the transaction, as :meth:`to_json` or by pickle. Brokers abort
    it once it is older than its ``transaction_timeout_ms``, unless that is switched off
    (``transaction_two_phase_commit_enable``, KIP-939). Two states of one transaction are equal.
    """

    transactional_id: str
    producer_id: int
    epoch: int
    version: int = slotted.field(eq=False)
    """The version of the transactions protocol that it began with: 1, or 2 (KIP-890)."""
    is_empty: bool = False
    """Whether nothing was written: brokers know nothing of it, and need not be told its end."""

    @property
    def identity(self) -> ProducerIdentity:
        """Return the producer id and epoch that wrote it."""
        return ProducerIdentity(self.producer_id, self.epoch)

    def to_json(self) -> str:
        """Return the state as a short JSON text."""
        import json  # few producers need it

        return json.dumps({name: getattr(self, name) for name in _FIELDS}, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> PreparedTransaction:
        """Return the state that :meth:`to_json` wrote; raise ``ValueError`` for anything else."""
        import json

        values: Any = json.loads(text)
        match values:
            case {
                "transactional_id": str(),
                "producer_id": int(),
                "epoch": int(),
                "version": 1 | 2,
                "is_empty": bool(),
            } if len(values) == len(_FIELDS):
                return cls(**values)
        raise ValueError(f"not the state of a prepared transaction: {text!r}")
