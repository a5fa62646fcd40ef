"""What 0017 to 0019 make today, for corpora that they made when they made less.

These revisions were edited after they had landed, so one number names several schemas. Here each part that
is missing is made by the files that make it in a new corpus. Where nothing is missing, some functions are
replaced by themselves.
"""

from __future__ import annotations

from pathlib import Path

from dedup.db.migrate import refuse_downgrade, run_file, run_statements

revision = "0020"
down_revision = "0019"

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    _where(_lacks_column("attachment", "changed_column"), _text("attached_views"))
    _where(_lacks_table("journal"), _text("journal"))
    _where(_lacks_table("compared_version"), _text("sentences"))
    _where(_lacks_table("sentence_schedule"), _part("sentences", "CREATE TABLE dedup.sentence_schedule "))
    shown = _text("shown").replace("ADD COLUMN ", "ADD COLUMN IF NOT EXISTS ")
    _where(_lacks_column("deferred_article", "kept"), shown)
    _where(_lacks_table("agency"), _text("credits"))
    _where(_lacks_table("feed"), _text("feeds"))
    _where(_lacks_argument("store_new", "kept"), _text("storing"))
    holding = _part("fingerprints", "CREATE FUNCTION dedup.holding(")
    drop = "DROP FUNCTION dedup.holding(boolean[], bigint[]);"
    _where(_lacks_argument("holding", "place"), f"{drop}\n{holding}")
    for name in ("compact_index", "sharing", "carrier", "holder"):
        function = _part("fingerprints", f"CREATE FUNCTION dedup.{name}(")
        run_statements(function.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", 1))
    run_file(SQL / "closing.sql")


def downgrade() -> None:
    refuse_downgrade()


def _text(subject: str) -> str:
    return (SQL / f"{subject}.sql").read_text("utf-8")


def _part(subject: str, beginning: str) -> str:
    """The paragraph of a file whose first statement begins so."""
    (found,) = (part for part in _text(subject).split("\n\n") if f"\n{beginning}" in f"\n{part}")
    return found


def _where(condition: str, statements: str) -> None:
    """Run statements where a condition is met; the server asks, so that `dedup init --sql` can print it."""
    run_statements(f"DO $mended$ BEGIN IF {condition} THEN\n{statements}\nEND IF; END $mended$;")


def _lacks_table(name: str) -> str:
    return f"to_regclass('dedup.{name}') IS NULL"


def _lacks_column(table: str, column: str) -> str:
    return (
        "NOT EXISTS (SELECT FROM pg_attribute"
        f" WHERE attrelid = 'dedup.{table}'::regclass AND attname = '{column}' AND NOT attisdropped)"
    )


def _lacks_argument(function: str, argument: str) -> str:
    return (
        "NOT EXISTS (SELECT FROM pg_proc WHERE pronamespace = 'dedup'::regnamespace"
        f" AND proname = '{function}' AND '{argument}' = ANY (proargnames))"
    )
