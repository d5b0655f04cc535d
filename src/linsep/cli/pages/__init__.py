"""Pages that commands write; they need matplotlib."""
