"""The engine under all clients: connections, metadata, tasks, and a thread for blocking callers."""
