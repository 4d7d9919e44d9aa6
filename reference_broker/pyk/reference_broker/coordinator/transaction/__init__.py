"""Transactions: one partition of ``__transaction_state`` as an event-sourced shard."""
