"""Where each assigned partition is read, and how that is found out."""
