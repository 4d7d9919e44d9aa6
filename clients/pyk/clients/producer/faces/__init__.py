"""The methods of producers: ``send``, and what both producers do on the event loop."""
