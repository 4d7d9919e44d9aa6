"""Membership by the classic protocol: JoinGroup, SyncGroup, Heartbeat and LeaveGroup."""
