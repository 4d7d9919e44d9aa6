"""What an application calls: reading records, and what both consumers do on the event loop."""
