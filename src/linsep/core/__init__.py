"""The engine: steps, links, readouts, kinds of example, and the only compiled loops over rows."""
