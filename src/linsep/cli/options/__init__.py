"""Options that several commands share, and the commands' base classes."""
