"""One module per codec: ``compress(data, level)`` and ``decompress(data, max_bytes)``.

What is decompressed came from outside, so the output is bounded *while it streams*: never more than
the limit, plus one piece, is in memory, whatever a frame declares. The input may be several frames
one after the other; their number is bounded too, because an empty frame costs its reader much more
than its writer.

Codec objects that cost something to make are kept in pools: ``list.pop`` and ``list.append`` are
atomic, so every call has an object to itself and no two threads ever share one.
"""
