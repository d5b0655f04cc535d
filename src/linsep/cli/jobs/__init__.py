"""The work of the commands: read, train, predict, compare."""
