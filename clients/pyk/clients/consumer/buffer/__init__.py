"""Hold the batches that are fetched and not handed out: where event loop and application meet."""
