"""Groups of type share: members share partitions, and the records in them (KIP-932)."""
