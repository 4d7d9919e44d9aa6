"""What the commands do, once their options are read: they are imported only then."""
