"""Transactions of a producer: their states, their requests, and the driver that sends these."""
