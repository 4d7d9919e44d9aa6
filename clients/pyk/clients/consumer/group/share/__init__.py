"""Membership in a share group (KIP-932)."""
