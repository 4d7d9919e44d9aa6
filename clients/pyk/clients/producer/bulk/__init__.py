"""Many records in one call: lists, columns and Arrow tables."""
