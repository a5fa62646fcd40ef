"""Articles, fingerprints, matches, common sentences, and the views over them."""

from __future__ import annotations

from pathlib import Path

from alembic import op

from dedup.corpus.migrate import refuse_to_discard, run_file

revision = "0001"
down_revision = None

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    for name in ("0001_tables.sql", "0001_triggers.sql", "0001_views.sql"):
        run_file(SQL / name)


def downgrade() -> None:
    refuse_to_discard(
        op.get_bind(), "article", "arrival", "sentence_pin", "pair_pin", "setting", "sentence_model"
    )
    op.execute("""
        DROP VIEW dedup.daily_mark, dedup.publication_overlap, dedup.article_sentence, dedup.similar_pair,
                  dedup.story_article, dedup.story, dedup.duplicate, dedup.canonical_article;
        DROP TABLE dedup.run, dedup.attempt, dedup.arrival, dedup.settle_turn,
                   dedup.corpus_state, dedup.sentence_model, dedup.setting, dedup.sentence_change,
                   dedup.pair_pin, dedup.sentence_pin, dedup.sentence_count, dedup.common_sentence,
                   dedup.match, dedup.fingerprint, dedup.article;
        DROP FUNCTION dedup.fire_always(), dedup.only_row_stays(), dedup.counts_came(), dedup.state_came(),
                      dedup.emptied(), dedup.article_marks(), dedup.article_new(),
                      dedup.pair_pin_changed(), dedup.sentence_pin_changed(), dedup.fingerprint_went(),
                      dedup.fingerprint_came(), dedup.article_deleted(), dedup.article_edited(),
                      dedup.article_edit(), dedup.article_lock(), dedup.remove_pairs(bigint[]),
                      dedup.withdraw(bigint[]), dedup.make_stale(bigint[]), dedup.settle_lock(),
                      dedup.canonical_time(timestamptz, timestamptz, text, timestamptz),
                      dedup.holder(bigint[]), dedup.carrier(bigint[]),
                      dedup.sharing(boolean, bigint[], bigint[], bigint[]);
    """)
