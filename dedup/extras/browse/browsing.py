"""`Deduplicator.browsing`: read-only queries for web pages. Each query reads a limited number of rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dedup.api import OfCorpus, transacted
from dedup.db.database import Cursor
from dedup.extras.browse.questions import article as articles
from dedup.extras.browse.questions import day as days
from dedup.extras.browse.questions import health as conditions
from dedup.extras.browse.questions import outlets as of_outlets
from dedup.extras.browse.questions import queue as queues
from dedup.extras.browse.questions import reading
from dedup.extras.browse.questions import search as searching
from dedup.extras.browse.questions import sentences as of_sentences
from dedup.extras.browse.questions import story as stories
from dedup.extras.judging.judgements import quality_of

READ_SECONDS = 10.0  # Time limit per query; queries read few rows, so only an overloaded server needs longer


class Browsing(OfCorpus):
    """Query a corpus for pages, read-only. The argument `after` is the token from the previous page."""

    @contextmanager
    def _transaction(self) -> Iterator[Cursor]:
        """Open a transaction that sees the corpus as of one moment and reads only through indexes."""
        with (
            self._database.session(READ_SECONDS) as session,
            session.transaction(snapshot=True, seconds=READ_SECONDS) as cursor,
        ):
            reading.begin(cursor)
            yield cursor

    newest_day = transacted(days.newest_day)
    days_beside = transacted(days.days_beside)
    day = transacted(days.day)
    story = transacted(stories.story)
    article = transacted(articles.article)
    compare = transacted(articles.compare)
    search = transacted(searching.search)
    outlets = transacted(of_outlets.outlets)
    copied = transacted(of_outlets.copied)
    outlet = transacted(of_outlets.outlet)
    outlet_names = transacted(of_outlets.names)
    agencies = transacted(of_outlets.agencies)
    families = transacted(of_outlets.families)
    languages = transacted(of_outlets.languages)
    common_sentences = transacted(of_sentences.common_sentences)
    sentence = transacted(of_sentences.sentence)
    quotes = transacted(of_sentences.quotes)
    quote = transacted(of_sentences.quote)
    queue = transacted(queues.queue)
    pins = transacted(queues.pins)
    health = transacted(conditions.health)
    quality = transacted(quality_of)
