"""Models as files and in other forms: kept, merged, exported."""
