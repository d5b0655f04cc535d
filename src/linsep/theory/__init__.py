"""What can be said of learners and forecasts with proof: scores, bounds and their certificates."""
