"""The extra `fsspec`: files at addresses, such as `s3://bucket/news.jsonl.gz` and `https://…`."""
