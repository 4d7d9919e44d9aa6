"""Share groups (KIP-932) at the leaders of partitions: records are handed out one by one."""
