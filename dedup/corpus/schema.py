from sqlalchemy import MetaData

SCHEMA = "dedup"
metadata = MetaData(schema=SCHEMA)
