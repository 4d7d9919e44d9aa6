"""What ``pyk doctor`` concludes from what it has seen. Pure."""
