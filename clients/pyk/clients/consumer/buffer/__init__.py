"""What is fetched and not handed out yet: where the event loop and the application meet."""
