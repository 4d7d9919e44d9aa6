"""Records as text: format strings, JSON, lines to send, filters. Pure."""
