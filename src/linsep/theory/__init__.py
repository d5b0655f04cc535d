"""Formulas of the theory: mistake bounds, risk, VC dimension, Brier score; plain numbers in and out."""
