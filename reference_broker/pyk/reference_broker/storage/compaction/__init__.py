"""Compaction: keep only the last record of each key of a log.

``cleanable`` decides what is worth compacting, ``latest_offsets``, ``transactions`` and
``survivors`` which records stay, ``compaction`` rewrites the segments of one log, ``swap`` puts
them into the places of the old ones, and ``compactor`` drives it all.
"""
