"""The demo: every learner on four data sets, and a page about it."""
