"""The tables as SQLAlchemy sees them: for Alembic's comparison, and for programs that want Core tables.

The migrations make the schema; `alembic check` holds the two equal. Views, triggers and functions are in
`migrations/sql`. Read next: `articles.py`.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Double,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

SCHEMA = "dedup"
metadata = MetaData(schema=SCHEMA)


def _moment(name: str, comment: str) -> Column[datetime]:
    """The time at which a row was written."""
    now = text("now()")
    return Column(name, DateTime(timezone=True), nullable=False, server_default=now, comment=comment)


article = Table(
    "article",
    metadata,
    Column(
        "id",
        BigInteger,
        Identity(always=True),
        nullable=False,
        comment="Internal number; says nothing about order.",
    ),
    Column("source_id", Text(collation="C"), nullable=False, comment="The caller's own key, unique."),
    Column("url", Text, comment="Where it was published; not compared."),
    Column("title", Text, comment="Headline; not compared."),
    Column("publication", Text, comment="Who published it; not compared."),
    Column(
        "published_at",
        DateTime(timezone=True),
        comment="When it was published; the earlier of two duplicates is the original.",
    ),
    _moment("added_at", "When the corpus first stored it; stands in where published_at is missing."),
    Column(
        "language", Text, comment="ISO 639 code; chooses the sentence parameters; null is the corpus default."
    ),
    Column("text", Text, nullable=False, comment="The body as given, without NUL and lone surrogates."),
    Column(
        "revision",
        Integer,
        nullable=False,
        server_default=text("0"),
        comment="How often text or language changed; ties a fingerprint to its text.",
    ),
    Column(
        "status",
        Text,
        nullable=False,
        server_default=text("'pending'::text"),
        comment="pending: not settled yet; unique; similar: canonical, but like another one; duplicate: see duplicate_of; failed: see reason.",
    ),
    Column("duplicate_of", BigInteger, comment="The canonical article this one duplicates (article.id)."),
    Column(
        "score", Double, comment="Duplicate: its score with duplicate_of. Similar: its highest score. 0 to 1."
    ),
    Column("marked_at", DateTime(timezone=True), comment="When the present mark was written."),
    Column(
        "reason",
        Text,
        comment="content, sentences or signature: what decided; for failed articles why; for pending ones the limit that fired, if any.",
    ),
    PrimaryKeyConstraint("id", name="article_pkey"),
    UniqueConstraint("source_id", name="article_source_id_key"),
    ForeignKeyConstraint(["duplicate_of"], ["dedup.article.id"], name="article_duplicate_of_fkey"),
    CheckConstraint(
        "(status = 'duplicate'::text) = (duplicate_of IS NOT NULL)", name="article_duplicate_of_check"
    ),
    CheckConstraint(
        "published_at >= '0001-01-01 00:00:00+00' AND published_at < '10000-01-01 00:00:00+00'",
        name="article_published_at_check",
    ),
    CheckConstraint(
        "added_at >= '0001-01-01 00:00:00+00' AND added_at < '10000-01-01 00:00:00+00'",
        name="article_added_at_check",
    ),
    CheckConstraint(
        "status = ANY (ARRAY['pending'::text, 'unique'::text, 'similar'::text, 'duplicate'::text, 'failed'::text])",
        name="article_status_check",
    ),
    comment="Every article with its mark. Nothing is ever removed by deduplication.",
)

fingerprint = Table(
    "fingerprint",
    metadata,
    Column("article_id", BigInteger, nullable=False, comment="article.id."),
    Column(
        "version",
        BigInteger,
        nullable=False,
        comment="Algorithm, settings and sentence parameters that made it, as one number.",
    ),
    Column("revision", Integer, nullable=False, comment="The article.revision it was made from."),
    Column("content_hash", BigInteger, nullable=False, comment="Hash of all normalised words in order."),
    Column(
        "sentence_hashes",
        ARRAY(BigInteger),
        nullable=False,
        comment="Distinct hashes of its sentences, in order of appearance.",
    ),
    Column(
        "signature",
        LargeBinary,
        nullable=False,
        comment="MinHash values of its shingles, unsigned 32-bit little-endian.",
    ),
    Column(
        "buckets",
        ARRAY(BigInteger),
        nullable=False,
        comment="One key per LSH band; empty where there is no shingle.",
    ),
    Column(
        "sketch",
        BigInteger,
        nullable=False,
        comment="Smallest shingle hash; articles with different sketches count as different stories.",
    ),
    Column("word_count", Integer, nullable=False, comment="Normalised words in the text."),
    Column("shingle_count", Integer, nullable=False, comment="Distinct shingles in the text."),
    Column(
        "canonical",
        Boolean,
        comment="true: original of its story; false: a duplicate; null: takes no part yet.",
    ),
    PrimaryKeyConstraint("article_id", name="fingerprint_pkey"),
    ForeignKeyConstraint(
        ["article_id"], ["dedup.article.id"], name="fingerprint_article_id_fkey", ondelete="CASCADE"
    ),
    comment="What is kept of a text: hashes, never words.",
)

match = Table(
    "match",
    metadata,
    Column("article_id", BigInteger, nullable=False, comment="The later article of the pair."),
    Column("other_id", BigInteger, nullable=False, comment="The earlier one, always canonical."),
    Column("relation", Text, nullable=False, comment="duplicate or similar."),
    Column(
        "sentence_jaccard",
        Double,
        nullable=False,
        comment="Shared sentences over all sentences of both, common sentences left out.",
    ),
    Column(
        "signature_jaccard",
        Double,
        nullable=False,
        comment="Share of equal MinHash positions; 0 where no bucket is shared.",
    ),
    Column(
        "containment",
        Double,
        nullable=False,
        comment="Shared sentences over the sentences of the shorter article.",
    ),
    PrimaryKeyConstraint("article_id", "other_id", name="match_pkey"),
    ForeignKeyConstraint(
        ["article_id"], ["dedup.article.id"], name="match_article_id_fkey", ondelete="CASCADE"
    ),
    ForeignKeyConstraint(["other_id"], ["dedup.article.id"], name="match_other_id_fkey", ondelete="CASCADE"),
    CheckConstraint(
        "relation = ANY (ARRAY['duplicate'::text, 'similar'::text])", name="match_relation_check"
    ),
    comment="Scored pairs: a duplicate with every canonical article it duplicates; a canonical article with every canonical one it is similar to.",
)

common_sentence = Table(
    "common_sentence",
    metadata,
    Column("sentence_hash", BigInteger, nullable=False, comment="Hash of the normalised sentence."),
    Column(
        "stories", Integer, nullable=False, comment="Different sketches among the articles that carry it."
    ),
    Column("example", Text, comment="The sentence as one of its articles prints it."),
    _moment("since", "When it became common."),
    PrimaryKeyConstraint("sentence_hash", name="common_sentence_pkey"),
    comment="Sentences that too many different stories carry: they find no candidates and count in no score. Brought up to date by the backfill.",
)

sentence_pin = Table(
    "sentence_pin",
    metadata,
    Column("sentence_hash", BigInteger, nullable=False, comment="Hash of the normalised sentence."),
    Column("common", Boolean, nullable=False, comment="true: always common; false: never."),
    Column("example", Text, comment="The sentence as it was pinned."),
    _moment("pinned_at", "When it was pinned."),
    PrimaryKeyConstraint("sentence_hash", name="sentence_pin_pkey"),
    comment="Sentences an analyst has declared always or never common; the next backfill acts on it.",
)

sentence_change = Table(
    "sentence_change",
    metadata,
    Column("id", BigInteger, Identity(always=True), nullable=False, comment="Number of the change."),
    Column("article_id", BigInteger, comment="The article whose fingerprint came; null for one that went."),
    Column(
        "sentence_hashes",
        ARRAY(BigInteger),
        comment="The sentences to count again; null: those of the article's fingerprint.",
    ),
    PrimaryKeyConstraint("id", name="sentence_change_pkey"),
    comment="Fingerprints that came or went since the common sentences were last counted.",
)

setting = Table(
    "setting",
    metadata,
    Column("name", Text, nullable=False, comment="Name, as `dedup settings` lists it."),
    Column("value", Text, nullable=False, comment="Value as text."),
    _moment("changed_at", "When it was set."),
    PrimaryKeyConstraint("name", name="setting_pkey"),
    comment="Settings of this corpus that differ from the program's defaults.",
)

sentence_model = Table(
    "sentence_model",
    metadata,
    Column("language", Text, nullable=False, comment="ISO 639 code."),
    Column("abbrev_types", Text, nullable=False, comment="File abbrev_types.txt."),
    Column("collocations", Text, nullable=False, comment="File collocations.tab."),
    Column("sent_starters", Text, nullable=False, comment="File sent_starters.txt."),
    Column("ortho_context", Text, nullable=False, comment="File ortho_context.tab."),
    Column(
        "checksum",
        Text,
        nullable=False,
        comment="SHA-256 of the four files; part of the fingerprint version.",
    ),
    Column("articles", BigInteger, nullable=False, comment="How many articles it was trained on."),
    _moment("trained_at", "When."),
    PrimaryKeyConstraint("language", name="sentence_model_pkey"),
    comment="Punkt sentence parameters trained from this corpus' own texts, in NLTK's tab format.",
)

corpus_state = Table(
    "corpus_state",
    metadata,
    Column(
        "only_row",
        Boolean,
        nullable=False,
        server_default=text("true"),
        comment="Always true: there is one row.",
    ),
    Column("fingerprint_digest", Text, comment="Settings and sentence parameters of the fingerprints."),
    Column(
        "algorithm_revision",
        Integer,
        nullable=False,
        server_default=text("0"),
        comment="Revision of the fingerprint algorithm.",
    ),
    Column("rule_digest", Text, comment="Settings of the marks."),
    Column(
        "settled_through",
        DateTime(timezone=True),
        comment="No settled article is later than this in canonical order.",
    ),
    Column(
        "recount_all",
        Boolean,
        nullable=False,
        server_default=text("true"),
        comment="The next backfill counts every sentence again.",
    ),
    PrimaryKeyConstraint("only_row", name="corpus_state_pkey"),
    CheckConstraint("only_row", name="corpus_state_only_row_check"),
    comment="One row: what the stored results were made with.",
)


def _pair() -> tuple[Column[str], Column[str]]:
    """The callers' keys of two articles."""
    one = "The caller's key of one article, the smaller of both byte by byte."
    other = "The caller's key of the other."
    return (
        Column("source_id", Text(collation="C"), nullable=False, comment=one),
        Column("other_source_id", Text(collation="C"), nullable=False, comment=other),
    )


review_pair = Table(
    "review_pair",
    metadata,
    *_pair(),
    Column(
        "place",
        Integer,
        nullable=False,
        comment="When it is asked, from 1: the strata by turns, random within each.",
    ),
    Column(
        "stratum",
        Text,
        nullable=False,
        comment="The stratum it was drawn from: a band of the score, and whether the methods agree.",
    ),
    Column("stratum_size", BigInteger, nullable=False, comment="Pairs in the stratum."),
    Column(
        "stratum_picked",
        BigInteger,
        nullable=False,
        comment="Pairs picked from it; each stands for stratum_size / stratum_picked pairs.",
    ),
    Column(
        "scores",
        JSONB,
        nullable=False,
        server_default=text("'{}'::jsonb"),
        comment="Method to its score when the pair was picked; null where it did not see the pair.",
    ),
    _moment("picked_at", "When it was picked."),
    PrimaryKeyConstraint("source_id", "other_source_id", name="review_pair_pkey"),
    CheckConstraint("source_id < other_source_id", name="review_pair_order_check"),
    CheckConstraint(
        "stratum_picked >= 1 AND stratum_picked <= stratum_size", name="review_pair_picked_check"
    ),
    comment="The pairs picked for people to judge: a random sample of each stratum, replaced by the next `dedup judge pairs`.",
)

judgement = Table(
    "judgement",
    metadata,
    *_pair(),
    Column("judged_by", Text, nullable=False, comment="Who judged."),
    Column("label", Text, nullable=False, comment="duplicate, similar, different or unsure."),
    Column("note", Text, comment="What the judge had to say about it, or null."),
    _moment("judged_at", "When; of a changed mind, the last time."),
    Column("text_hash", LargeBinary, nullable=False, comment="dedup.text_hash of the text that was read."),
    Column("other_text_hash", LargeBinary, nullable=False, comment="The same of the other article."),
    PrimaryKeyConstraint("source_id", "other_source_id", "judged_by", name="judgement_pkey"),
    CheckConstraint("source_id < other_source_id", name="judgement_order_check"),
    CheckConstraint(
        "label = ANY (ARRAY['duplicate'::text, 'similar'::text, 'different'::text, 'unsure'::text])",
        name="judgement_label_check",
    ),
    CheckConstraint("length(judged_by) >= 1 AND length(judged_by) <= 100", name="judgement_judged_by_check"),
    comment="What people say about pairs, one row per pair and judge. Kept when an article is deleted: it counts again when the same text is loaded again.",
)

Index("article_duplicate_of", article.c.duplicate_of, postgresql_where=text("duplicate_of IS NOT NULL"))
Index("article_failed", article.c.id, postgresql_where=text("status = 'failed'"))
Index(
    "article_pending_published",
    text("COALESCE(published_at, added_at)"),
    article.c.source_id,
    postgresql_where=text("status = 'pending'"),
)
Index(
    "article_pending_added",
    article.c.added_at,
    article.c.source_id,
    postgresql_where=text("status = 'pending'"),
)
for _name, _rows in (("fingerprint_canonical", "canonical"), ("fingerprint_other", "NOT canonical")):
    Index(
        _name,
        fingerprint.c.sentence_hashes,
        fingerprint.c.buckets,
        postgresql_using="gin",
        postgresql_with={"fastupdate": "off"},
        postgresql_where=text(_rows),
    )
Index("fingerprint_content", fingerprint.c.content_hash, postgresql_where=text("buckets = '{}'"))
Index("match_other", match.c.other_id)
