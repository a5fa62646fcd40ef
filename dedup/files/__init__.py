"""Files become articles: JSONL, CSV, TSV and Parquet, plain or gzipped. No database."""
