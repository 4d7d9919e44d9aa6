"""One module per API family: request → domain → response.

Each has functions ``(services, request, context) -> response``, named in :mod:`.table`. The
services are a ``Protocol`` beside them: what they use of the broker, and nothing more. A handler
that has to wait returns a ``Deferred``.
"""
