"""Linear programs, by HiGHS: separators or the proof that there is none, the least error, the fewest errors."""
