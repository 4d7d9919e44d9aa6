"""The epoch of a transactional producer, and when the next transaction needs another one. Pure.

In version 1 the epoch stays. A request whose answer was lost may then still arrive, in the next
transaction: a late EndTxn would end that one half-way (KAFKA-17754), and a late batch would become
a part of it. So after such a loss, and after each error, the producer asks for another epoch before
it begins anything (KIP-360). It does the same after a prepared transaction, whose end other
processes may ask for at any time, and where the version has changed since the last transaction. In
version 2 each end brings the epoch of the next transaction.
"""

from __future__ import annotations

from pyk.clients.producer.sending.sequences import ProducerIdentity


class TransactionEpochs:
    """The producer id and epoch of the coordinator's last answer, and the protocol's version."""

    def __init__(self) -> None:
        self.identity: ProducerIdentity | None = None
        """None before the first initialization."""
        self.version = 1
        """The version of the transactions protocol, of the present transaction or the next one."""
        self.must_initialize = True
        """Whether another epoch is needed before the next transaction."""

    def use(self, version: int) -> None:
        """Use this version of the protocol from the next transaction on."""
        if version != self.version:
            self.version = version
            self.must_initialize = True

    def received(self, identity: ProducerIdentity) -> None:
        """Take the identity of an InitProducerId response."""
        self.identity = identity
        self.must_initialize = False

    def in_doubt(self) -> None:
        """Learn that something was sent whose fate is not known, or that went wrong."""
        if self.version == 1:
            self.must_initialize = True
