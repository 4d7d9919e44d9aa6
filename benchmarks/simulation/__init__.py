"""Measure how much faster than real time a simulated cluster runs."""
