"""Listener and connections: frames in, responses out, in order and within limits."""
