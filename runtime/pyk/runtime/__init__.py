"""The base of all parts of pyk: clock, network, file system, timers, tasks."""
