"""Read the files of a log: segments, their indexes, snapshots. Pure."""
