"""Decide what a producer sends, when and to which node, and what responses mean for its batches."""
