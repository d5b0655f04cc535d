"""The maximum margin, hard and soft, each with the dual that proves it."""
