"""What a client must be allowed to do, before its request reaches a handler.

:mod:`.requirements` is the table: what each API needs. Where only a part of a request is refused,
the handler gets the rest, and its response is completed. So handlers know nothing of this, but for
Fetch, whose partitions are those of a session. Without an authorizer none of it is imported.
"""
