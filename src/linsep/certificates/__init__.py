"""Certificates: search witnesses, state claims, verify both with exact arithmetic."""
