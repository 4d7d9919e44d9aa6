"""Who clients are, and how they show it. Pure."""
