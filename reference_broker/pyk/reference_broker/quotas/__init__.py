"""Quotas of clients: what they have used, what they may use, and how long they have to wait."""
