"""The frame of all commands: shared options, profiles, output, errors and exit codes."""
