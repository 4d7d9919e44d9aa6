"""The records that an application gets, also as Arrow tables, and the errors of unreadable ones."""
