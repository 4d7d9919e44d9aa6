"""What the files of a log hold: segments, their indexes, snapshots. Pure."""
