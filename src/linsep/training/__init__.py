"""Train online learners: state, epochs, shards, single rows, votes."""
