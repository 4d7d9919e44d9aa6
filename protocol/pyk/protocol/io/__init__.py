"""The seams to the world that clients and broker share: clock, network."""
