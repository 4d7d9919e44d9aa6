"""What an application calls: ``send``, and what both producers do on the event loop."""
