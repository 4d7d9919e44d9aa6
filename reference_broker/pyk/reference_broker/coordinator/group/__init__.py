"""Consumer groups by the classic protocol, and their committed offsets, over
``__consumer_offsets``.
"""
