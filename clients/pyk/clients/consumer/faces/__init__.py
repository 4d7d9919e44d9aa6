"""The methods of consumers: reading records, and what both consumers do on the event loop."""
