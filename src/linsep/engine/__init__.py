"""The compiled engine: data kinds, links, readouts, and the only loops over rows."""
