"""Tables of content management systems: outlets as numbers, bodies with markup, texts in several parts."""

from __future__ import annotations

import random
from typing import Any

import psycopg
import pytest
from psycopg import sql

from dedup.api.deduplicator import Deduplicator
from dedup.api.operation import Operation
from dedup.attach import comparing
from dedup.base.errors import DatabaseError, InputError
from dedup.db.database import Database
from dedup.runs import waiting
from tests.attach.owners import Owner
from tests.attached import SCHEMA, attach, news, right
from tests.corpora import answer, at, deduplicator, sentence, settle, text, window

pytestmark = pytest.mark.timeout(120)


def markup(start: int, length: int = 6, look: str = "plain") -> str:
    """Return a body as a web editor writes it."""
    parts = [sentence(code) for code in window(start, length)]
    if look == "plain":
        return "".join(f"<p>{part}</p>\n" for part in parts)
    photo = '<figure class="wp-block-image"><img src="https://example.org/a.jpg" alt=""/></figure>'
    return photo + "".join(f'<div class="par"><span lang="en">{part}</span></div>' for part in parts)


def post(owner: Owner, key: int, body: str | None, title: str = "A&amp;B <em>win</em>") -> None:
    insert = "INSERT INTO news (id, body, headline, day) VALUES (%s, %s, %s, %s)"
    owner.execute(insert, [key, body, title, at(key)])


def one(owner: Owner, query: str) -> Any:
    row = owner.execute(query.encode()).fetchone()
    assert row is not None
    return row[0]


# --- markup


def test_bodies_with_markup_are_compared_as_their_articles(database: Database, owner: Owner) -> None:
    news(owner)
    bodies = [markup(0), markup(0, look="rich"), text(window(0, 6)), markup(9), '<img src="a.jpg"><br><br>']
    for key, body in enumerate(bodies):
        post(owner, key, body)
    attach(database, html=True, mark_columns=True)
    found = right(database).status()
    assert found == {
        "news/0": "unique",
        "news/1": "duplicate:news/0",
        "news/2": "duplicate:news/0",
        "news/3": "unique",
        "news/4": "failed",
    }
    assert one(owner, "SELECT min(title) || max(title) FROM dedup.article") == "A&B winA&B win"
    owner.execute("UPDATE news SET body = body || '<p></p>', headline = '<b>C</b>' WHERE id = 0")
    assert right(database).status() == found, "other tags with the same words change no mark"
    assert one(owner, "SELECT title FROM dedup.article WHERE source_id = 'news/0'") == "C"
    dd = deduplicator(database)
    assert dd.attachments.sync() == 0, "titles are compared without markup, as they are stored"
    assert dd.verify().differences == []


@pytest.mark.extra("browse")
def test_whoever_reads_a_body_with_markup_reads_its_article(database: Database, owner: Owner) -> None:
    news(owner)
    for key in (0, 1):
        post(owner, key, markup(key, look="rich"))
    attach(database, html=True)
    right(database)
    dd = deduplicator(database)
    stored = dd.get("news/0")
    assert stored is not None
    assert "<" not in stored.article.text
    assert sentence(window(0, 1)[0]) in stored.article.text
    explained = dd.explain("news/0", "news/1")
    assert len(explained.shared) == 5
    assert not [line for line in (*explained.shared, *explained.differing) if "<" in str(line)]
    page = dd.browsing.article("news/0")
    assert page.text is not None
    assert page.text.text == stored.article.text
    assert page.text.characters == len(stored.article.text)
    compared = dd.browsing.compare("news/0", "news/1")
    assert "<" not in compared.earlier_text.text + compared.later_text.text


@pytest.mark.long("dedup", "migrations")
def test_a_table_that_looks_like_html_is_refused_with_the_way_out(database: Database, owner: Owner) -> None:
    news(owner)
    for key in range(300):
        post(owner, key, markup(0) if key > 280 else "words")
    with pytest.raises(InputError, match=r"19 of 200 bodies .* HTML.* `html=True` .* `html=False`"):
        attach(database)
    attach(database, where="id < 281")
    deduplicator(database).attachments.detach("news")
    attach(database, html=False)
    assert right(database).status()["news/299"] == "duplicate:news/281"


@pytest.mark.extra("spark")
def test_a_cluster_is_told_nothing_of_bodies_with_markup(
    database: Database, owner: Owner, tmp_path: Any
) -> None:
    news(owner)
    post(owner, 0, markup(0))
    attach(database, html=True)
    right(database)
    with pytest.raises(InputError, match="--html"):
        deduplicator(database).export_corpus(tmp_path / "corpus")


# --- views

CMS = """
    CREATE TABLE outlets (id integer PRIMARY KEY, name text NOT NULL);
    CREATE TABLE posts (
        id bigint PRIMARY KEY, outlet_id integer NOT NULL REFERENCES outlets, headline text, topic text,
        byline text, status text NOT NULL DEFAULT 'publish', published timestamptz,
        updated_at timestamp NOT NULL DEFAULT (now() AT TIME ZONE 'UTC'));
    CREATE TABLE revisions (
        post_id bigint REFERENCES posts ON DELETE CASCADE, number integer, body text,
        PRIMARY KEY (post_id, number));
    CREATE VIEW published_posts AS
    SELECT p.id, p.headline, o.name AS outlet, p.published, p.updated_at, p.topic, p.byline, b.body
    FROM posts p JOIN outlets o ON o.id = p.outlet_id
    CROSS JOIN LATERAL (
        SELECT body FROM revisions r WHERE r.post_id = p.id ORDER BY number DESC LIMIT 1) AS b
    WHERE p.status = 'publish';
    INSERT INTO outlets VALUES (1, 'Vantage Wire'), (2, 'Courier');
"""
VIEW: dict[str, Any] = {
    "columns": {
        "text": "body",
        "title": "headline",
        "publication": "outlet",
        "published_at": "published",
    },
    "html": True,
    "changed": "updated_at",
    "every": 0,
}


def cms(owner: Owner) -> None:
    for statement in CMS.split(";\n"):
        owner.execute(statement.encode())


def attach_posts(database: Database, **given: Any) -> None:
    options = {"keys": ["id"], "name": "posts", **VIEW, **given}
    deduplicator(database).attachments.attach(f"{SCHEMA}.published_posts", **options)


def write(owner: Owner, key: int, start: int, outlet: int = 1, **columns: Any) -> None:
    """Write a new post, or a new revision of a post."""
    given = {"id": key, "outlet_id": outlet, "headline": f"Post {key}", "published": at(60 + key), **columns}
    owner.execute(
        sql.SQL(
            "INSERT INTO posts ({}) VALUES ({})"
            " ON CONFLICT (id) DO UPDATE SET updated_at = now() AT TIME ZONE 'UTC'"
        ).format(
            sql.SQL(", ").join(map(sql.Identifier, given)),
            sql.SQL(", ").join(map(sql.Literal, given.values())),
        )
    )
    insert = "INSERT INTO revisions SELECT %s, 1 + count(*), %s FROM revisions WHERE post_id = %s"
    owner.execute(insert, [key, markup(start), key])


def test_a_view_of_posts_is_attached_and_an_outlet_is_a_name(database: Database, owner: Owner) -> None:
    cms(owner)
    for key, start in enumerate([0, 0, 9]):
        write(owner, key, start, 1 + key % 2)
    attach_posts(database)
    assert right(database).status() == {
        "posts/0": "unique",
        "posts/1": "duplicate:posts/0",
        "posts/2": "unique",
    }
    dd = deduplicator(database)
    assert [(story.publication, story.copied_by) for story in dd.stories()] == [
        ("Vantage Wire", ("Courier",))
    ]
    assert owner.execute(
        "SELECT id, duplicate_of FROM dedup.posts_marks WHERE status = 'duplicate'"
    ).fetchall() == [(1, 0)]
    assert dd.verify().differences == []
    assert dd.verify().skipped == []


@pytest.mark.long("dedup", "migrations")
def test_changes_of_a_view_are_found_by_their_time_and_deletions_by_a_full_look(
    database: Database, owner: Owner
) -> None:
    cms(owner)
    for key, start in enumerate([0, 0, 9]):
        write(owner, key, start)
        owner.execute("UPDATE posts SET updated_at = updated_at - interval '3 days'")
    dd = deduplicator(database)
    attach_posts(database)
    right(database)
    write(owner, 1, 9)
    write(owner, 3, 0)
    owner.execute("UPDATE posts SET headline = 'unseen' WHERE id = 0")  # `updated_at` stays unchanged
    owner.execute("UPDATE posts SET status = 'draft' WHERE id = 2")
    assert dd.verify().differences == [], "a change without a time is no difference"
    assert "4 rows of" in str(dd.verify().skipped)
    assert dd.attachments.sync() == 2
    settle(database)
    assert answer(database).status() == {
        "posts/0": "unique",
        "posts/1": "unique",
        "posts/2": "duplicate:posts/1",
        "posts/3": "duplicate:posts/0",
    }
    assert dd.attachments.sync(whole=True) == 2
    assert right(database).status() == {
        "posts/0": "unique",
        "posts/1": "unique",
        "posts/3": "duplicate:posts/0",
    }
    assert one(owner, "SELECT title FROM dedup.article WHERE source_id = 'posts/0'") == "unseen"
    assert dd.verify().skipped == []


def test_a_change_that_commits_late_is_found_by_the_overlap(database: Database, owner: Owner) -> None:
    cms(owner)
    write(owner, 0, 0)
    attach_posts(database)
    right(database)
    with psycopg.connect(database.url) as slow:
        slow.execute(f"SET search_path = {SCHEMA}".encode())
        slow.execute("UPDATE posts SET headline = 'late', updated_at = now() AT TIME ZONE 'UTC'")
        write(owner, 1, 9)
        dd = deduplicator(database)
        assert dd.attachments.sync() == 1
        slow.commit()
    assert dd.attachments.sync() == 2, "the noted change and the late change"
    right(database)
    assert (
        one(owner, "SELECT string_agg(title, ', ' ORDER BY source_id) FROM dedup.article") == "late, Post 1"
    )


def test_a_time_in_the_future_hides_no_later_change(database: Database, owner: Owner) -> None:
    cms(owner)
    write(owner, 0, 0, updated_at="9999-01-01")
    write(owner, 1, 0, updated_at="infinity")
    attach_posts(database)
    right(database)
    write(owner, 2, 0)
    assert deduplicator(database).attachments.sync() == 1


@pytest.mark.parametrize("kind", ["VIEW", "MATERIALIZED VIEW"])
def test_a_view_without_times_is_compared_as_a_whole(database: Database, owner: Owner, kind: str) -> None:
    cms(owner)
    for key in range(3):
        write(owner, key, 0)
    owner.execute(f"CREATE {kind} latest AS SELECT id, body FROM published_posts".encode())
    attach(database, "latest", columns={"text": "body"}, html=True)
    assert set(right(database).status()) == {"latest/0", "latest/1", "latest/2"}
    owner.execute("DELETE FROM posts WHERE id = 0")
    if kind != "VIEW":
        owner.execute("REFRESH MATERIALIZED VIEW latest")  # the next backfill notices that by itself
    else:
        assert deduplicator(database).attachments.sync() == 1
    assert set(right(database).status()) == {"latest/1", "latest/2"}


def test_a_backfill_and_a_worker_look_for_changes_when_it_is_time(database: Database, owner: Owner) -> None:
    cms(owner)
    write(owner, 0, 0)
    attach_posts(database, every=5)
    assert settle(database).synced == 2, "the changed row, and the note to compare all rows"
    right(database)

    def waits() -> bool:
        with database.transaction() as cursor:
            return bool(waiting.find_waiting(cursor))

    write(owner, 1, 0)
    assert not waits()
    assert set(right(database).status()) == {"posts/0"}, "it is not yet time to look for changes"
    owner.execute("UPDATE dedup.attachment SET synced_at = now() - interval '6 minutes'")
    assert waits()
    assert set(right(database).status()) == {"posts/0", "posts/1"}
    assert not waits()
    owner.execute("DELETE FROM posts WHERE id = 0")
    owner.execute("UPDATE dedup.attachment SET synced_at = now() - interval '6 minutes'")
    settle(database)
    assert set(answer(database).marks) == {"posts/0", "posts/1"}, (
        "only a comparison of all rows finds deleted rows"
    )
    owner.execute(
        "UPDATE dedup.attachment SET synced_at = now() - interval '6 minutes',"
        " compared_at = now() - interval '2 days'"
    )
    assert set(right(database).status()) == {"posts/1"}


def test_a_view_that_cannot_be_attached_is_refused_with_the_next_step(
    database: Database, owner: Owner
) -> None:
    cms(owner)
    for key in range(2):
        write(owner, key, 0)
    owner.execute("CREATE VIEW twice AS SELECT p.* FROM published_posts p, outlets")
    owner.execute(
        "CREATE VIEW nobody AS SELECT NULLIF(id, 1) AS id, body, NULLIF(updated_at, updated_at) AS at"
        " FROM published_posts"
    )
    columns = {"text": "body"}
    refused: dict[str, tuple[str, dict[str, Any]]] = {
        "several rows with the id [01]: .* DISTINCT ON": ("twice", {}),
        "'id' is null in 1 row: leave such rows out": ("nobody", {}),
        "'at' is null in 1 row: attach a view that": ("nobody", {"changed": "at", "where": "id = 0"}),
        "`mark_columns`: .* not a table": ("published_posts", {"mark_columns": True}),
        "`triggers=True`: .* not a table": ("published_posts", {"triggers": True}),
        "`changed`: column 'topic' is of type text": ("published_posts", {"changed": "topic"}),
        "triggers note every change": ("posts", {"every": 5, "columns": {"text": "headline"}}),
    }
    for words, (name, given) in refused.items():
        with pytest.raises(InputError, match=words):
            attach(database, name, **{"columns": columns, "html": True, **given})


def test_a_view_that_gets_two_rows_for_an_article_is_left_alone_and_named(
    database: Database, owner: Owner
) -> None:
    cms(owner)
    for key in range(2):
        write(owner, key, 0)
    attach_posts(database)
    before = right(database).status()
    owner.execute("ALTER TABLE outlets DROP CONSTRAINT outlets_pkey CASCADE")
    owner.execute("INSERT INTO outlets VALUES (1, 'Vantage')")
    dd = deduplicator(database)
    for whole in (False, True):
        with pytest.raises(DatabaseError, match=r"several rows have the id [01]: .* `dedup backfill`"):
            dd.attachments.sync(whole=whole)
    with database.transaction() as cursor:
        cursor.execute(
            "INSERT INTO dedup.outbox (attachment_id, source_ids)"
            " SELECT id, '{posts/0}' FROM dedup.attachment"
        )
    assert "several rows" in str(settle(database).problems)
    owner.execute("DELETE FROM outlets WHERE name = 'Vantage'")
    assert right(database).status() == before


def test_a_view_that_is_defined_anew_is_compared_by_the_next_backfill(
    database: Database, owner: Owner
) -> None:
    cms(owner)
    for key in range(2):
        write(owner, key, 0, 1 + key)
    owner.execute("CREATE VIEW mine AS SELECT * FROM published_posts")
    attach(database, "mine", **VIEW)
    right(database)
    owner.execute("CREATE OR REPLACE VIEW mine AS SELECT * FROM published_posts WHERE outlet = 'Courier'")
    assert set(right(database).status()) == {"mine/1"}
    owner.execute("DROP VIEW mine")
    assert settle(database).problems == [
        f"{SCHEMA}.mine: the table is gone; delete its articles with `dedup detach mine`, or give"
        " another table by --table: run `dedup remap mine`"
    ]
    assert set(answer(database).marks) == {"mine/1"}
    owner.execute("CREATE VIEW mine AS SELECT * FROM published_posts")
    assert set(right(database).status()) == {"mine/0", "mine/1"}


def test_how_a_view_is_followed_can_be_changed(database: Database, owner: Owner) -> None:
    cms(owner)
    write(owner, 0, 0)
    attach_posts(database)
    right(database)
    dd = deduplicator(database)
    dd.attachments.remap("posts", every=30, changed="")
    (found,) = dd.attachments.list()
    assert (found.every, found.changed, found.triggers, found.html) == (30, None, False, True)
    assert right(database).status() == {"posts/0": "unique"}


@pytest.mark.long("dedup", "migrations")
@pytest.mark.parametrize("seed", range(3))
def test_stopped_comparisons_lose_no_change_of_a_view(database: Database, owner: Owner, seed: int) -> None:
    """Stop a comparison after any page. The next one looks for changes since the last completed
    comparison."""
    rng = random.Random(seed)
    cms(owner)
    for key in range(6):
        write(owner, key, rng.randrange(14))
    attach_posts(database)
    right(database)
    for step in range(12):
        write(owner, 10 + step if rng.random() < 0.5 else rng.randrange(6), rng.randrange(14))
        left = rng.randrange(3)

        def killed(left: list[int] = [left]) -> bool:  # noqa: B006
            left[0] -= 1
            return left[0] < 0

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(comparing, "PAGE", rng.choice([1, 2, 50]))
            deduplicator(database).attachments.sync(whole=rng.random() < 0.3, stop=killed)
        if rng.random() < 0.3:
            settle(database)
    deduplicator(database).attachments.sync()
    right(database)
    assert deduplicator(database).attachments.sync(whole=True) == 0


# --- kept columns


def test_columns_of_ones_own_stay_readable_beside_the_marks(database: Database, owner: Owner) -> None:
    cms(owner)
    write(owner, 0, 0, topic="weather", byline="Ann Field")
    write(owner, 1, 0, topic="traffic")
    write(owner, 2, 9)
    attach_posts(database, keep=["topic", "byline"])
    found = right(database).status()
    query = "SELECT source_id, kept FROM dedup.marked_article ORDER BY source_id"
    assert owner.execute(query.encode()).fetchall() == [
        ("posts/0", {"topic": "weather", "byline": "Ann Field"}),
        ("posts/1", {"topic": "traffic"}),
        ("posts/2", None),
    ]
    query = "SELECT kept ->> 'topic' FROM dedup.canonical_article WHERE source_id = 'posts/0'"
    assert one(owner, query) == "weather"
    assert one(owner, "SELECT count(*) FROM dedup.mark WHERE kept ? 'topic'") == 2
    exported = {row["id"]: row.get("kept") for row in deduplicator(database).marks(kept=True)}
    assert exported["posts/1"] == {"topic": "traffic"}
    assert "kept" not in next(iter(deduplicator(database).marks()))
    before = one(owner, "SELECT array_agg(revision ORDER BY id) FROM dedup.article")
    owner.execute("UPDATE posts SET topic = 'floods', updated_at = now() AT TIME ZONE 'UTC' WHERE id = 2")
    dd = deduplicator(database)
    assert dd.attachments.sync() == 1
    report = settle(database)
    assert (report.synced, report.fingerprinted, report.settled) == (1, 0, 0), "kept values change no mark"
    assert one(owner, "SELECT kept ->> 'topic' FROM dedup.article WHERE source_id = 'posts/2'") == "floods"
    assert one(owner, "SELECT array_agg(revision ORDER BY id) FROM dedup.article") == before
    assert answer(database).status() == found
    assert dd.verify().differences == []
    assert dd.verify().skipped == []
    dd.attachments.remap("posts", keep=["byline"])
    right(database)
    assert one(owner, "SELECT count(*) FROM dedup.mark WHERE kept ? 'topic'") == 0


def test_a_kept_column_of_a_table_is_followed_by_its_triggers(database: Database, owner: Owner) -> None:
    kind = (
        "id bigint PRIMARY KEY, body text, headline text, day timestamptz, outlet text, lang text,"
        " tags text[], about json, more jsonb, clicks integer, seen timestamptz"
    )
    news(owner, kind=kind)
    post(owner, 0, "words")
    attach(database, keep=["tags", "about", "more", "clicks", "seen", "lang"])
    right(database)
    assert one(owner, "SELECT kept FROM dedup.article") is None
    owner.execute(
        "UPDATE news SET tags = '{a,b}', about = '{\"x\": \"\\u0000\"}', more = '{\"y\": [1, null]}',"
        " clicks = 7, seen = '2026-03-01 10:00+02', lang = repeat('x', 9000)"
    )
    owner.execute("SET timezone = 'Asia/Kolkata'")
    assert right(database).status() == {"news/0": "unique"}
    kept = one(owner, "SELECT kept FROM dedup.article")
    assert len(kept.pop("lang")) == 4_096
    assert kept == {
        "tags": ["a", "b"],
        "about": '{"x": "\\u0000"}',
        "more": {"y": [1, None]},
        "clicks": 7,
        "seen": "2026-03-01T08:00:00+00:00",
    }
    with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState):
        owner.execute("UPDATE dedup.article SET kept = NULL")
    with pytest.raises(InputError, match="`keep`: there is no column 'topic'"):
        deduplicator(database).attachments.remap("news", keep=["topic"])


# --- columns of marks


def test_columns_of_marks_are_announced_with_what_they_cost(database: Database, owner: Owner) -> None:
    news(owner)
    for key in range(3):
        post(owner, key, "words")
    owner.execute("CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'")
    for name, event in (("touch", "UPDATE"), ("only_body", "UPDATE OF body"), ("made", "INSERT")):
        owner.execute(
            f"CREATE TRIGGER {name} BEFORE {event} ON news FOR EACH ROW EXECUTE FUNCTION touch()".encode()
        )
    options: dict[str, Any] = {"keys": ["id"], "columns": {"text": "body"}, "where": "id > 0"}
    attachments = deduplicator(database).attachments
    told = attachments.attach(f"{SCHEMA}.news", **options, mark_columns=True, dry_run=True).told
    assert told[0].startswith("the first backfill updates 2 rows of newsroom.news")
    assert told[0].endswith("these updates fire a trigger: touch")
    assert "the view news_marks of dedup has the same marks" in told[1]
    assert attachments.attach(f"{SCHEMA}.news", **options).told == []


@pytest.mark.long("dedup", "migrations")
def test_the_triggers_of_another_corpus_are_not_called_the_owners(database: Database, owner: Owner) -> None:
    news(owner)
    post(owner, 1, "words")
    options: dict[str, Any] = {"keys": ["id"], "columns": {"text": "body"}}
    Deduplicator.initialize(database.url, schema="cables")
    with Deduplicator(database.url, schema="cables") as other:
        other.attachments.attach(f"{SCHEMA}.news", **options)
        told = deduplicator(database).attachments.attach(f"{SCHEMA}.news", **options, mark_columns=True).told
    with Operation(database.url, schema="cables") as cables:
        cables.uninstall()
    assert told[0].startswith("the first backfill updates 1 row of newsroom.news")
    assert told[0].endswith("these updates fire no trigger")
