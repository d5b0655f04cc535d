"""What commands do: read, train, predict, compare."""
