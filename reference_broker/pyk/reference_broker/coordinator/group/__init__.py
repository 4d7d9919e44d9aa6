"""Consumer groups by the classic protocol, and their offsets, over ``__consumer_offsets``."""
