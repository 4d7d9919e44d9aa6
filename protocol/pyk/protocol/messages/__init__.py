"""Message classes, one module per API."""
