"""Tables: CSV, TSV, Parquet and Arrow files, and tables in memory."""

try:
    import pyarrow as pyarrow
except ImportError as error:
    raise ImportError("tables are read with pyarrow: pip install 'linsep[arrow]'") from error
