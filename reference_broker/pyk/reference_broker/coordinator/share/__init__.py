"""The state of share groups: how far each group is in each partition (KIP-932)."""
