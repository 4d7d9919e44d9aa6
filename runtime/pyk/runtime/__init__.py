"""What every part of pyk stands on: clock, network, file system, timers, tasks."""
