"""Record batches: build them, read them, fill columns from them."""
