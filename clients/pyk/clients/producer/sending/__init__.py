"""What a producer sends when and to whom, and what responses mean for its batches."""
