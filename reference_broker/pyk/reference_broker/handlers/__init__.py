"""One module per API family: request → domain → response.

Each has functions ``(broker, request, context) -> response``, named in :mod:`.table`. A handler
that has to wait returns a ``Deferred``.
"""
