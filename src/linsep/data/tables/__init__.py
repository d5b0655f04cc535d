"""Tables to rows: CSV, TSV, Parquet, Arrow, and tables in memory."""
