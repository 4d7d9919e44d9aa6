"""Test tools that several suites share."""
