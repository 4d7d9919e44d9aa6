"""Coordinators: event-sourced shards, each over one partition of an internal topic."""
