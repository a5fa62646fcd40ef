"""Feeds and exports as sites write them, with invented texts: RSS, Atom, WordPress, sitemaps."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from xml.sax.saxutils import escape

FIRST = datetime(2026, 3, 12, 6, 10, tzinfo=UTC)

STORM = (
    "A storm tore two cables from the harbour bridge on Thursday. Police closed it to all traffic. Repairs"
    " will take at least nine days, the mayor said."
)
TRAMS = (
    "Trams will run through the night from May, the city council decided on Thursday. Tickets cost the same"
    " as by day. A surcharge was lost by three votes."
)

KEEPER = (
    "After forty years the last keeper of the northern lighthouse gave up his keys on Friday. A machine will"
    " light the lamp. He stays to count the birds."
)

WORDPRESS = """<?xml version="1.0" encoding="UTF-8" ?>
<!-- This is a WordPress eXtended RSS file -->
<!-- generator="WordPress/6.4" created="2026-03-20 10:00" -->
<rss version="2.0"
  xmlns:excerpt="http://wordpress.org/export/1.2/excerpt/"
  xmlns:content="http://purl.org/rss/1.0/modules/content/"
  xmlns:dc="http://purl.org/dc/elements/1.1/"
  xmlns:wp="http://wordpress.org/export/1.2/"
>
<channel>
  <title>{title}</title>
  <link>{site}</link>
  <description>News of the harbour</description>
  <pubDate>Fri, 20 Mar 2026 10:00:00 +0000</pubDate>
  <language>en-US</language>
  <wp:wxr_version>1.2</wp:wxr_version>
  <wp:base_site_url>{site}</wp:base_site_url>
  <wp:base_blog_url>{site}</wp:base_blog_url>
  <wp:author><wp:author_id>1</wp:author_id><wp:author_login><![CDATA[jd]]></wp:author_login>
    <wp:author_display_name><![CDATA[Jane Doe]]></wp:author_display_name></wp:author>
  <wp:category><wp:term_id>2</wp:term_id><wp:cat_name><![CDATA[News]]></wp:cat_name></wp:category>
{items}
</channel>
</rss>
"""


def post(
    number: int,
    body: str,
    *,
    title: str = "Harbour bridge shut after storm",
    kind: str = "post",
    status: str = "publish",
    site: str = "https://courier.example",
) -> str:
    """Return an item of a WordPress export."""
    when = FIRST + timedelta(hours=number)
    gmt = "0000-00-00 00:00:00" if status == "draft" else f"{when:%Y-%m-%d %H:%M:%S}"
    return f"""  <item>
    <title><![CDATA[{title}]]></title>
    <link>{site}/{number}/</link>
    <pubDate>{format_datetime(when)}</pubDate>
    <dc:creator><![CDATA[jd]]></dc:creator>
    <guid isPermaLink="false">{site}/?p={number}</guid>
    <description></description>
    <content:encoded><![CDATA[{body}]]></content:encoded>
    <excerpt:encoded><![CDATA[]]></excerpt:encoded>
    <wp:post_id>{number}</wp:post_id>
    <wp:post_date><![CDATA[{when + timedelta(hours=1):%Y-%m-%d %H:%M:%S}]]></wp:post_date>
    <wp:post_date_gmt><![CDATA[{gmt}]]></wp:post_date_gmt>
    <wp:status><![CDATA[{status}]]></wp:status>
    <wp:post_type><![CDATA[{kind}]]></wp:post_type>
    <category domain="category" nicename="news"><![CDATA[News]]></category>
    <wp:postmeta><wp:meta_key>_edit_last</wp:meta_key><wp:meta_value>1</wp:meta_value></wp:postmeta>
  </item>"""


def wordpress(*items: str, title: str = "Courier", site: str = "https://courier.example") -> str:
    return WORDPRESS.format(title=escape(title), site=site, items="\n".join(items))


def blocks(text: str) -> str:
    """Return a text as WordPress' editor stores it: each sentence is a block."""
    sentences = [f"{sentence.rstrip('.')}." for sentence in text.split(". ")]
    return "\n\n".join(f"<!-- wp:paragraph -->\n<p>{one}</p>\n<!-- /wp:paragraph -->" for one in sentences)


def rss_item(name: str, text: str, *, title: str = "A title", hours: int = 0, more: str = "") -> str:
    """Return an item of RSS, in which the description is escaped HTML."""
    when = format_datetime(FIRST + timedelta(hours=hours))
    return (
        f"<item><title>{escape(title)}</title><link>https://mercury.example/{name}</link>"
        f"<guid>https://mercury.example/{name}</guid><pubDate>{when}</pubDate>"
        f"<description>{escape(f'<p>{escape(text)}</p>')}</description>{more}</item>"
    )


def rss(items: Iterable[str], *, title: str = "Mercury", declaration: str = "") -> str:
    return (
        f'{declaration}<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/"'
        ' xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel>'
        f"<title>{escape(title)}</title><link>https://mercury.example/</link><language>en</language>\n"
        + "\n".join(items)
        + "\n</channel></rss>\n"
    )


ATOM = """<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="fr">
  <title type="text">Le Phare</title>
  <link rel="self" href="https://phare.example/feed"/>
  <link href="https://phare.example/"/>
  <updated>2026-03-12T10:00:00Z</updated>
  <entry>
    <id>tag:phare.example,2026:1</id>
    <title type="html">Le &lt;b&gt;dernier&lt;/b&gt; gardien</title>
    <link rel="edit" href="https://phare.example/edit/1"/>
    <link rel="alternate" href="/1"/>
    <author><name>Zoé</name></author>
    <published>2026-03-12T09:00:00+01:00</published>
    <updated>2026-03-12T11:00:00+01:00</updated>
    <summary>Il part.</summary>
    <content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">
      <p>Le gardien est parti &amp; la lampe reste.</p><p>Personne ne vient.</p></div></content>
  </entry>
  <entry>
    <id>tag:phare.example,2026:2</id>
    <title>Deux</title>
    <link href="https://phare.example/2"/>
    <updated>2026-03-12T10:00:00Z</updated>
    <summary>Un texte simple: 1 &lt; 2 &amp; 3.</summary>
  </entry>
</feed>
"""

RDF = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
  xmlns:dc="http://purl.org/dc/elements/1.1/">
<channel rdf:about="https://wache.example/"><title>Hafenwache</title><link>https://wache.example/</link>
<dc:language>de</dc:language><items><rdf:Seq><rdf:li resource="https://wache.example/1"/></rdf:Seq></items></channel>
<item rdf:about="https://wache.example/1"><title>Sturm</title><link>https://wache.example/1</link>
<description>Der Sturm riss zwei Seile ab.</description><dc:date>2026-03-12T07:10:00+01:00</dc:date></item>
</rdf:RDF>
"""
