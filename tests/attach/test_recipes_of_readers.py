"""Recipes of docs/recipes.md for feed readers: each user sees a text once, and no text is lost."""

from __future__ import annotations

from typing import Any

import pytest

from tests.attach.recipes import Begin, begin, page
from tests.corpora import at

__all__ = ["begin"]

pytestmark = [pytest.mark.timeout(120), pytest.mark.long("dedup", "migrations", "docs/recipes.md")]

# --- Miniflux

MINIFLUX = """
    CREATE TABLE users (id serial PRIMARY KEY, username text NOT NULL UNIQUE);
    CREATE TABLE categories (
        id serial PRIMARY KEY, user_id int NOT NULL REFERENCES users ON DELETE CASCADE, title text NOT NULL,
        hide_globally boolean NOT NULL DEFAULT false, UNIQUE (user_id, title));
    CREATE TABLE feeds (
        id bigserial PRIMARY KEY, user_id int NOT NULL REFERENCES users ON DELETE CASCADE,
        category_id int NOT NULL REFERENCES categories ON DELETE CASCADE, title text NOT NULL,
        feed_url text NOT NULL, site_url text NOT NULL, hide_globally boolean NOT NULL DEFAULT false,
        UNIQUE (user_id, feed_url));
    CREATE TYPE entry_status AS enum ('unread', 'read', 'removed');
    CREATE TABLE entries (
        id bigserial PRIMARY KEY, user_id int NOT NULL REFERENCES users ON DELETE CASCADE,
        feed_id bigint NOT NULL REFERENCES feeds ON DELETE CASCADE, hash text NOT NULL,
        published_at timestamptz NOT NULL, title text NOT NULL, url text NOT NULL, author text, content text,
        status entry_status DEFAULT 'unread', starred bool DEFAULT 'f', document_vectors tsvector,
        comments_url text DEFAULT '', changed_at timestamptz NOT NULL, share_code text NOT NULL DEFAULT '',
        reading_time int NOT NULL DEFAULT 0, created_at timestamptz NOT NULL DEFAULT now(),
        tags text[] DEFAULT '{}', UNIQUE (feed_id, hash));
    CREATE UNIQUE INDEX entries_share_code_idx ON entries (share_code) WHERE share_code <> '';
    CREATE INDEX entries_user_status_idx ON entries (user_id, status);
    CREATE INDEX document_vectors_idx ON entries USING gin (document_vectors);
    CREATE TABLE entry_tombstones (
        feed_id bigint NOT NULL REFERENCES feeds ON DELETE CASCADE, hash text NOT NULL CHECK (hash <> ''),
        deleted_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (feed_id, hash));
    CREATE TABLE enclosures (
        id bigserial PRIMARY KEY, entry_id bigint NOT NULL REFERENCES entries ON DELETE CASCADE, url text);
    INSERT INTO users (username) VALUES ('ann'), ('bob');
    INSERT INTO categories (user_id, title) VALUES (1, 'All'), (2, 'All');
    INSERT INTO feeds (user_id, category_id, title, feed_url, site_url) VALUES
        (1, 1, 'Wire', 'w', ''), (1, 1, 'Blog', 'b', ''), (1, 1, 'Forum', 'f', ''),
        (2, 2, 'Wire', 'w', ''), (2, 2, 'Forum', 'f', '');
"""
ANN, BOB = 1, 2
WIRE, BLOG, FORUM, BOBS_WIRE, BOBS_FORUM = range(1, 6)
FETCHED = """
    INSERT INTO entries (title, hash, url, comments_url, published_at, content, author, user_id, feed_id,
        reading_time, changed_at, document_vectors, tags)
    SELECT %(title)s, %(title)s, 'https://example.org/' || %(title)s, '', %(at)s, %(content)s, '',
        (SELECT user_id FROM feeds WHERE id = %(feed)s), %(feed)s, 1, now(),
        setweight(to_tsvector(%(title)s), 'A') || setweight(to_tsvector(coalesce(%(content)s, '')), 'B'), '{}'
    WHERE NOT EXISTS (SELECT 1 FROM entry_tombstones WHERE feed_id = %(feed)s AND hash = %(title)s)
    RETURNING id, status, created_at, changed_at
"""
REFRESHED = """
    UPDATE entries SET title = %(title)s, url = 'u', content = %(content)s, reading_time = 2, tags = '{x}',
        document_vectors = setweight(to_tsvector(%(title)s), 'A') || setweight(to_tsvector(%(content)s), 'B')
    WHERE user_id = %(user)s AND feed_id = %(feed)s AND hash = %(title)s RETURNING id
"""
READ = """
    UPDATE entries SET status = 'read', changed_at = now() WHERE user_id = %(user)s AND id = ANY (%(ids)s)
"""
ALL_READ = """
    UPDATE entries SET status = 'read', changed_at = now() WHERE user_id = %(user)s AND status = 'unread'
"""
STARRED = """
    UPDATE entries SET starred = NOT starred, changed_at = now() WHERE user_id = %(user)s AND id = %(id)s
"""
ARCHIVED = """
    WITH old AS (
        SELECT id, feed_id, hash FROM entries WHERE status = 'read' AND starred IS false AND share_code = ''
            AND created_at < now() - interval '60 days'
        ORDER BY created_at FOR UPDATE SKIP LOCKED LIMIT 10000
    ), gone AS (
        DELETE FROM entries USING old WHERE entries.id = old.id RETURNING entries.feed_id, entries.hash
    )
    INSERT INTO entry_tombstones (feed_id, hash) SELECT feed_id, hash FROM gone WHERE hash <> ''
    ON CONFLICT (feed_id, hash) DO NOTHING
"""
# Miniflux before April 2026 flushes the history by these statements, and keeps rows without their texts.
FLUSHED = """
    UPDATE entries SET status = 'removed', changed_at = now()
    WHERE user_id = %(user)s AND status = 'read' AND starred IS false AND share_code = ''
"""
EMPTIED = """
    UPDATE entries SET title = '', content = NULL, url = '', author = NULL, comments_url = NULL,
        document_vectors = NULL
    WHERE status = 'removed' AND content IS NOT NULL
"""


def test_miniflux_shows_each_text_to_each_user_once(begin: Begin) -> None:
    trial = begin("Miniflux", MINIFLUX)

    def fetch(feed: int, title: str, content: str | None, minute: float) -> int:
        return int(trial.put(FETCHED, feed=feed, title=title, content=content, at=at(minute)))

    def unread(user: int) -> list[int]:
        return trial.column(
            f"SELECT id FROM entries WHERE user_id = {user} AND status = 'unread' ORDER BY id"
        )

    storm = fetch(WIRE, "Storm", page(1), 10)
    fetch(BLOG, "Storm again", page(1, "site"), 20)
    hers = [storm, fetch(BLOG, "Trams", page(2), 30)]
    hers += [fetch(FORUM, title, "<a href='u'>Comments</a>", 31) for title in ("Ask", "Show")]
    hers += [fetch(WIRE, "Picture", None, 33)]
    alt = "The ferry leaves the harbour of Port Marlow in the rain, seen from the pier at dawn"
    hers += [fetch(WIRE, f"Ferry {i}", f"<img src='{i}.jpg' alt='{alt}' title='{alt}'>", 34) for i in (1, 2)]
    his = [fetch(BOBS_WIRE, "Storm", page(1), 10), fetch(BOBS_WIRE, "Trams", page(2, "site"), 5)]
    trial.start()
    assert (unread(ANN), unread(BOB)) == (hers, his)
    assert trial.column("SELECT DISTINCT scope FROM dedup.article ORDER BY 1") == ["1", "2"]
    named = trial.column("SELECT DISTINCT publication FROM dedup.article ORDER BY 1")
    assert named == ["Blog", "Forum", "Wire"]

    trial.put(READ, user=ANN, ids=[storm])
    hers.remove(storm)
    told_earlier = fetch(FORUM, "Storm, first told here", page(1, "site"), 1)
    keeper, starred = fetch(FORUM, "Keeper", page(3), 41), fetch(WIRE, "Keeper", page(3), 42)
    trams_copied = fetch(BOBS_FORUM, "Trams", page(2), 40)
    trial.put(STARRED, user=ANN, id=starred)
    trial.hide()
    assert unread(ANN) == [*hers, told_earlier, keeper, starred], (
        "new entries are shown until they are settled"
    )
    assert unread(BOB) == [*his, trams_copied]
    trial.settle()
    trial.hide()
    hers += [keeper, starred]
    assert (unread(ANN), unread(BOB)) == (hers, his)

    ferry = fetch(BLOG, "Ferry", page(2, "site"), 50)
    trial.settle()
    trial.put(REFRESHED, user=ANN, feed=BLOG, title="Ferry", content=page(4))
    hers.append(ferry)
    trial.hide()
    assert unread(ANN) == hers, "the mark belongs to the former text"
    trial.settle()
    trial.hide()
    assert unread(ANN) == hers

    trial.put(f"UPDATE entries SET created_at = created_at - interval '90 days' WHERE id = {storm}")
    trial.put(ARCHIVED)
    trial.put(FLUSHED, user=BOB)
    trial.put(EMPTIED)
    trial.settle()
    trial.hide()
    assert (unread(ANN), unread(BOB)) == (hers, his)
    # Three entries arrive; the later an entry arrives, the earlier is its publication date.
    hers.append(fetch(BLOG, "Bridge", page(7), 90))
    for minute in (80, 70):
        fetch(FORUM, f"Bridge, told at {minute}", page(7, "site"), minute)
    trial.settle()
    trial.hide()
    assert unread(ANN) == hers
    trial.assert_as_fresh()

    trial.put(f"DELETE FROM feeds WHERE id = {BLOG} AND user_id = {ANN}")
    trial.put(f"DELETE FROM users WHERE id = {BOB}")
    trial.put(ALL_READ, user=ANN)
    fetch(WIRE, "Storm, told again", page(1), 60)
    trial.settle()
    trial.hide()
    assert unread(ANN) == []
    assert trial.column("SELECT count(*) FROM dedup.article") == trial.column("SELECT count(*) FROM entries")
    trial.stop()


# --- FreshRSS

FRESHRSS = """
    CREATE TABLE freshrss_alice_category (
        id serial PRIMARY KEY, name varchar(191) UNIQUE NOT NULL, kind smallint DEFAULT 0);
    CREATE TABLE freshrss_alice_feed (
        id serial PRIMARY KEY, url varchar(32768) NOT NULL, category int DEFAULT 0
            REFERENCES freshrss_alice_category ON DELETE SET NULL ON UPDATE CASCADE,
        name varchar(191) NOT NULL, "lastUpdate" bigint DEFAULT 0, priority smallint NOT NULL DEFAULT 10,
        "cache_nbEntries" int DEFAULT 0, "cache_nbUnreads" int DEFAULT 0);
    CREATE TABLE freshrss_alice_entry (
        id bigint NOT NULL PRIMARY KEY, guid varchar(767) NOT NULL, title varchar(8192) NOT NULL,
        author varchar(1024), content text, link varchar(16383) NOT NULL, date bigint,
        "lastSeen" bigint DEFAULT 0, "lastModified" bigint, "lastUserModified" bigint, hash bytea,
        is_read smallint NOT NULL DEFAULT 0, is_favorite smallint NOT NULL DEFAULT 0,
        id_feed int REFERENCES freshrss_alice_feed ON DELETE CASCADE ON UPDATE CASCADE, tags varchar(2048),
        attributes text, UNIQUE (id_feed, guid));
    CREATE INDEX freshrss_alice_is_read_index ON freshrss_alice_entry (is_read);
    CREATE INDEX "freshrss_alice_entry_lastSeen_index" ON freshrss_alice_entry ("lastSeen");
    CREATE TABLE freshrss_alice_entrytmp (
        id bigint NOT NULL PRIMARY KEY, guid varchar(767) NOT NULL, title varchar(8192) NOT NULL,
        author varchar(1024), content text, link varchar(16383) NOT NULL, date bigint,
        "lastSeen" bigint DEFAULT 0, hash bytea, is_read smallint NOT NULL DEFAULT 0,
        is_favorite smallint NOT NULL DEFAULT 0,
        id_feed int REFERENCES freshrss_alice_feed ON DELETE CASCADE ON UPDATE CASCADE, tags varchar(2048),
        attributes text, UNIQUE (id_feed, guid));
    CREATE TABLE freshrss_alice_tag (id serial PRIMARY KEY, name varchar(191) UNIQUE NOT NULL);
    CREATE TABLE freshrss_alice_entrytag (
        id_tag int REFERENCES freshrss_alice_tag ON DELETE CASCADE ON UPDATE CASCADE,
        id_entry bigint REFERENCES freshrss_alice_entry ON DELETE CASCADE ON UPDATE CASCADE,
        PRIMARY KEY (id_tag, id_entry));
    INSERT INTO freshrss_alice_category (name) VALUES ('Uncategorized');
    INSERT INTO freshrss_alice_feed (url, category, name) VALUES ('w', 1, 'Wire'), ('b', 1, 'Blog');
"""
FOUND = """
    INSERT INTO freshrss_alice_entrytmp (id, guid, title, author, content, link, date, "lastSeen", hash,
        is_read, is_favorite, id_feed, tags, attributes)
    VALUES (%(second)s * 1000000::bigint, %(title)s, %(title)s, '', %(content)s, 'l', %(date)s, %(second)s,
        decode('0f', 'hex'), 0, 0, %(feed)s, '', '[]') ON CONFLICT DO NOTHING
"""
COMMITTED = """
    DO $$ DECLARE
        maxrank bigint := (SELECT max(id) FROM freshrss_alice_entrytmp);
        rank bigint := (SELECT maxrank - count(*) FROM freshrss_alice_entrytmp);
    BEGIN
        INSERT INTO freshrss_alice_entry (id, guid, title, author, content, link, date, "lastSeen", hash,
            is_read, is_favorite, id_feed, tags, attributes)
        (SELECT rank + row_number() OVER (ORDER BY date, id), guid, title, author, content, link, date,
            "lastSeen", hash, is_read, is_favorite, id_feed, tags, attributes
         FROM freshrss_alice_entrytmp t
         WHERE NOT EXISTS (SELECT 1 FROM freshrss_alice_entry r
                           WHERE t.id = r.id OR (t.id_feed = r.id_feed AND t.guid = r.guid))
         ORDER BY date, id);
        DELETE FROM freshrss_alice_entrytmp WHERE id <= maxrank;
    END $$
"""
COUNTED = """
    UPDATE freshrss_alice_feed SET "cache_nbUnreads" = (
        SELECT count(*) FROM freshrss_alice_entry e
        WHERE e.id_feed = freshrss_alice_feed.id AND e.is_read = 0)
"""
OPENED = """
    WITH opened AS (UPDATE freshrss_alice_entry SET is_read = 1, "lastUserModified" = 1
                    WHERE guid = %(title)s AND is_read = 0 RETURNING id_feed)
    UPDATE freshrss_alice_feed SET "cache_nbUnreads" = "cache_nbUnreads" - 1
    WHERE id = (SELECT id_feed FROM opened)
"""
EDITED = """
    UPDATE freshrss_alice_entry SET title = %(title)s, author = '', content = %(content)s, link = 'l',
        date = 1, "lastSeen" = 3, hash = decode('00', 'hex'), tags = '' WHERE id_feed = 1 AND guid = %(title)s
"""
SEEN = "UPDATE freshrss_alice_entry SET \"lastSeen\" = 2 WHERE id_feed = 1 AND guid IN ('Storm', 'Trams')"
UPGRADED = """
    ALTER TABLE freshrss_alice_entry ALTER COLUMN date SET DATA TYPE bigint,
        ALTER COLUMN "lastSeen" SET DATA TYPE bigint, ALTER COLUMN guid SET DATA TYPE varchar(767),
        ALTER COLUMN title SET DATA TYPE varchar(8192), ALTER COLUMN author SET DATA TYPE varchar(1024),
        ALTER COLUMN link SET DATA TYPE varchar(16383), ALTER COLUMN tags SET DATA TYPE varchar(2048);
    ALTER TABLE freshrss_alice_feed ALTER COLUMN name SET DATA TYPE varchar(191)
"""
CLEANED = """
    DELETE FROM freshrss_alice_entry WHERE id_feed = 1 AND is_favorite = 0 AND is_read = 1
        AND NOT EXISTS (SELECT 1 FROM freshrss_alice_entrytag WHERE id_entry = id)
"""
DROPPED = """
    DROP TABLE IF EXISTS freshrss_alice_entrytag, freshrss_alice_tag, freshrss_alice_entrytmp,
        freshrss_alice_entry, freshrss_alice_feed, freshrss_alice_category
"""


def test_freshrss_marks_copies_of_each_user_as_read_and_counts_right(begin: Begin) -> None:
    """Users have separate tables, in which ids are the microseconds of arrival."""
    users = ("alice", "bob")
    trial = begin("FreshRSS", "".join(FRESHRSS.replace("alice", user) for user in users))
    clock = iter(range(1_772_000_000, 1_773_000_000, 60))

    def send(user: str, query: str, **values: Any) -> None:
        trial.put(query.replace("alice", user), **values)

    def fetch(user: str, feed: int, *found: tuple[str, str | None]) -> None:
        for title, content in found:
            second = next(clock)
            date = 2**40 if feed == 2 else second  # feeds may give any date
            send(user, FOUND, feed=feed, title=title, content=content, second=second, date=date)
        send(user, COMMITTED)
        send(user, COUNTED)

    def unread(user: str) -> list[str]:
        counts = 'SELECT sum("cache_nbUnreads") FROM freshrss_alice_feed'.replace("alice", user)
        titles = "SELECT title FROM freshrss_alice_entry WHERE is_read = 0 ORDER BY id".replace("alice", user)
        found = [str(title) for title in trial.column(titles)]
        assert trial.column(counts) == [len(found)]
        return found

    def hide() -> None:
        for user in users:
            trial.hide(user)

    fetch("alice", 1, ("Storm", page(1)), ("Trams", page(2)))
    fetch("alice", 2, ("Storm again", page(1, "site")), ("Picture", None))
    fetch("bob", 2, ("Storm", page(1, "site")))
    for user in users:
        trial.start(user)
    assert (unread("alice"), unread("bob")) == (["Storm", "Trams", "Picture"], ["Storm"])

    fetch("bob", 1, ("Trams", page(2)), ("Storm copied", page(1)))
    fetch("alice", 2, ("Trams copied", page(2)), ("Keeper", page(3)))
    hide()
    assert unread("bob") == ["Storm", "Trams", "Storm copied"], "new entries are shown until they are settled"
    trial.settle()
    hide()
    assert (unread("alice"), unread("bob")) == (["Storm", "Trams", "Picture", "Keeper"], ["Storm", "Trams"])

    send("alice", OPENED, title="Storm")
    send("alice", SEEN)
    fetch("alice", 1, ("Ferry", page(3)), ("Storm at last", page(1)))
    trial.settle()
    send("alice", EDITED, title="Ferry", content=page(4))
    hide()
    assert unread("alice") == ["Trams", "Picture", "Keeper", "Ferry", "Storm at last"], (
        "an edited entry is shown until it is settled"
    )
    trial.settle()
    hide()
    assert unread("alice") == ["Trams", "Picture", "Keeper", "Ferry"]

    for user in users:
        send(user, UPGRADED)
    send("alice", CLEANED)
    send("alice", "UPDATE freshrss_alice_entry SET is_read = 1 WHERE is_read <> 1 AND id <= 1773000000000000")
    send("alice", COUNTED)
    send("bob", "DELETE FROM freshrss_alice_feed WHERE id = 2")
    trial.settle()
    hide()
    assert (unread("alice"), unread("bob")) == ([], ["Trams"])
    trial.assert_as_fresh()
    send("alice", "DELETE FROM freshrss_alice_feed WHERE id = 1")
    send("bob", DROPPED)
    trial.dedup("detach", "freshrss_bob_entry", "--yes")
    send("bob", FRESHRSS)
    trial.stop()


# --- Wallabag

WALLABAG = """
    CREATE SEQUENCE entry_id_seq;
    CREATE TABLE wallabag_user (id int PRIMARY KEY, username varchar(180) NOT NULL);
    CREATE TABLE wallabag_entry (
        id int PRIMARY KEY, user_id int DEFAULT NULL REFERENCES wallabag_user, uid varchar(23) DEFAULT NULL,
        title text DEFAULT NULL, url text DEFAULT NULL, hashed_url varchar(40) DEFAULT NULL,
        is_archived boolean NOT NULL, archived_at timestamp(0) DEFAULT NULL, is_starred boolean NOT NULL,
        starred_at timestamp(0) DEFAULT NULL, content text DEFAULT NULL, created_at timestamp(0) NOT NULL,
        updated_at timestamp(0) NOT NULL, published_at timestamp(0) DEFAULT NULL,
        published_by text DEFAULT NULL, mimetype text DEFAULT NULL, language varchar(20) DEFAULT NULL,
        reading_time int NOT NULL, domain_name text DEFAULT NULL, http_status varchar(3) DEFAULT NULL,
        is_not_parsed boolean DEFAULT false NOT NULL);
    CREATE INDEX created_at ON wallabag_entry (created_at);
    CREATE INDEX hashed_url_user_id ON wallabag_entry (user_id, hashed_url);
    CREATE TABLE wallabag_tag (id int PRIMARY KEY, label text NOT NULL, slug varchar(128) NOT NULL UNIQUE);
    CREATE TABLE wallabag_entry_tag (
        entry_id int NOT NULL REFERENCES wallabag_entry ON DELETE CASCADE,
        tag_id int NOT NULL REFERENCES wallabag_tag ON DELETE CASCADE, PRIMARY KEY (entry_id, tag_id));
    CREATE TABLE wallabag_annotation (
        id int PRIMARY KEY, entry_id int REFERENCES wallabag_entry ON DELETE CASCADE, quote text);
    INSERT INTO wallabag_user VALUES (1, 'ann'), (2, 'bob');
    INSERT INTO wallabag_tag VALUES (1, 'later', 'later');
"""
SAVED = """
    INSERT INTO wallabag_entry (id, user_id, uid, title, url, hashed_url, is_archived, archived_at,
        is_starred, content, created_at, updated_at, published_at, mimetype, language, reading_time,
        domain_name, http_status, is_not_parsed)
    VALUES (%(id)s, %(user)s, NULL, %(title)s, 'u', 'h', false, NULL, false, %(content)s, %(at)s, %(at)s,
        NULL, 'text/html', 'en_US', 1, 'example.org', '200', %(failed)s)
"""
RELOADED = """
    UPDATE wallabag_entry SET content = %(content)s, is_not_parsed = false, updated_at = now()
    WHERE id = %(id)s
"""
PUT_AWAY = """
    UPDATE wallabag_entry SET is_archived = true, archived_at = now(), updated_at = now()
    WHERE id = %(id)s
"""
NOT_FETCHED = "The text of this article could not be fetched. Please <a href='u'>tell us</a> about it."


def test_wallabag_archives_what_is_saved_twice_while_it_is_unread(begin: Begin) -> None:
    trial = begin("Wallabag", WALLABAG)

    def save(user: int, title: str, content: str, minute: float) -> int:
        number = int(trial.put("SELECT nextval('entry_id_seq')"))
        when, failed = at(minute).replace(tzinfo=None), content == NOT_FETCHED
        trial.put(SAVED, id=number, user=user, title=title, content=content, at=when, failed=failed)
        return number

    def unread(user: int) -> list[int]:
        return trial.column(
            f"SELECT id FROM wallabag_entry WHERE NOT is_archived AND user_id = {user} ORDER BY id"
        )

    storm = save(ANN, "Storm", page(1), 1)
    save(ANN, "Storm, by a short link", page(1, "site"), 2)
    lost = [save(ANN, "index.html", NOT_FETCHED, minute) for minute in (3, 4)]
    his = [save(BOB, "Storm", page(1), 9)]
    trial.start()
    assert (unread(ANN), unread(BOB)) == ([storm, *lost], his)

    trial.put(PUT_AWAY, id=storm)
    trial.put("INSERT INTO wallabag_entry_tag (entry_id, tag_id) VALUES (%(id)s, 1)", id=storm)
    hers = [*lost, save(ANN, "Storm, to be read again", page(1), 20)]
    his.append(save(BOB, "Trams", page(2), 21))
    twice = save(BOB, "Trams, twice", page(2), 22)
    trial.hide()
    assert unread(BOB) == [*his, twice], "new entries are shown until they are settled"
    trial.settle()
    trial.hide()
    assert (unread(ANN), unread(BOB)) == (hers, his)

    again = [save(BOB, f"Ferry {minute}", page(8), minute) for minute in (60, 50, 40)]
    trial.settle()
    trial.hide()
    his.append(again[0])
    assert unread(BOB) == his, "the first arrival stays, whatever the dates say"
    trial.put(PUT_AWAY, id=again[0])
    his[-1] = save(BOB, "Ferry, to be read again", page(8), 70)
    save(BOB, "Ferry, twice to be read again", page(8), 71)
    trial.settle()
    trial.hide()
    assert unread(BOB) == his

    trial.put(RELOADED, id=lost[0], content=page(3))
    trial.put(RELOADED, id=lost[1], content=page(3, "site"))
    trial.settle()
    trial.put(RELOADED, id=lost[1], content=page(4))
    trial.hide()
    assert unread(ANN) == hers, "an edited entry is shown until it is settled"
    trial.put("DELETE FROM wallabag_entry_tag WHERE entry_id = %(id)s", id=storm)
    trial.put("DELETE FROM wallabag_entry WHERE id = %(id)s", id=storm)
    trial.settle()
    trial.hide()
    assert unread(ANN) == hers
    trial.assert_as_fresh()
    for number in trial.column(f"SELECT id FROM wallabag_entry WHERE user_id = {BOB}"):
        trial.put("DELETE FROM wallabag_entry WHERE id = %(id)s", id=number)
    trial.put(f"DELETE FROM wallabag_user WHERE id = {BOB}")
    trial.settle()
    assert trial.column("SELECT DISTINCT scope FROM dedup.article") == [str(ANN)]
    trial.stop()
