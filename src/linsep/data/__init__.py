"""From files to rows: formats, compression, strict reading in bounded memory."""
