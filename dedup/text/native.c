/* Make the fingerprint of a text in one pass: sections 1.1 to 1.8 of docs/semantics.md.
   The Python modules beside this file are the reference; comments name the Python functions that the code follows.
   Characters are code points; Python gives their classes in pages (native_characters.py). The caller gives all memory,
   which is linear in the text. This file is compiled twice: native_narrow.c includes it for ASCII texts, whose
   characters are bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint32_t Wide;
#if defined(NARROW)
typedef uint8_t Char;
#define IS_ELLIPSIS(c) 0
#else
typedef Wide Char;
#define IS_ELLIPSIS(c) ((c) == 0x2026)
#endif

enum { /* Classes of characters, in the same order as in native_characters.py */
    RE_WORD = 1 << 0, LETTER = 1 << 1, ALPHA = 1 << 2, LOWER = 1 << 3, UPPER = 1 << 4, DIGIT = 1 << 5, SPACE = 1 << 6,
    LINE_END = 1 << 7, IDEOGRAPH = 1 << 8, ASCII_WORD = 1 << 9, SENTENCE_END = 1 << 10, CLOSER = 1 << 11,
    GLUE_CLOSER = 1 << 12, NON_WORD = 1 << 13, QUOTE = 1 << 14, LINE_CLOSER = 1 << 15, LINE_PUNCTUATION = 1 << 16,
    NO_START = 1 << 17, PUNCTUATION = 1 << 18, COMBINES = 1 << 19, ODD_LOWER = 1 << 20
};
enum { OK, REFERENCE, EMPTY, SHORT, ROOM, PAGE, SEQUENCE }; /* Results for a text */
enum { ABBREVIATION = 1, STARTER = 2, UNCERTAIN = 4, FIRST = 8, COLLOCATION = 16, CONTEXT = 8 };
enum { UPPER_WITHIN = 4, UPPER_SEEN = 14, LOWER_FIRST = 16, LOWER_SEEN = 112 };
enum { MAX_WORD = 256, MAX_CONTEXT = 200, KIND = 1024, PAGE_SIZE = 128, PAGE_BITS = 7, SHINGLE_WORDS = 3, STRETCH = 16 };
static const Wide SEPARATOR = 0x110000; /* Separates the two words of a collocation in a key */
static const uint32_t MANY = 1u << 31, IN_WORD = 1u << 30, POINT = 0x1FFFFF;

typedef struct { uint32_t classes, lower, fold; } Entry; /* fold: code point | IN_WORD; or MANY | count | their place */
typedef struct { uint64_t hash; uint32_t at, size, flags, unused; } Slot;

typedef struct { /* Parameters for all texts: _Parameters in native.py */
    const uint64_t *of_word, *of_shingle, *of_buckets, *stop_words;
    const uint32_t *multipliers, *increments;
    const Slot *slots;
    const Wide *pool;
    int64_t mask, stop_words_count, stop_length, min_characters, min_words, signature_size, bands, rows;
} Parameters;

typedef struct { /* One text: _Call in native.py */
    const Entry *const *pages;
    const uint64_t *of_sequence;
    const void *text, *title;
    int64_t size, width, title_size, has_title, sequence_stride, sequence_words, ideographs, sentence_ends;
    char *room; /* Working memory; begins with the sentence hashes, which are a part of the result */
    int64_t room_size;
    int64_t *buckets;
    uint8_t *signature;
    int64_t sentence_count, content_hash, word_count, shingle_count, wanted;
} Call;

typedef struct { /* Many texts, and rows for the results: _Many in native.py */
    const void *const *texts;
    const int64_t *sizes, *widths, *ideographs, *sentence_ends;
    int64_t count, next; /* next: the first text without results */
    int64_t *content_hash, *sentences, *sentence_starts, *buckets;
    uint8_t *signature;
    int32_t *word_count, *shingle_count;
} Many;

typedef struct { int64_t at, size; } Span;

typedef struct {
    const Parameters *p;
    const Entry *const *pages, *ascii; /* ascii: the first page, which always exists */
    Call *call;
    int64_t room_taken;
    int64_t *sentences;
    const Char *text;
    Char *lines, *block, *spare;
    uint8_t word[PAGE_SIZE], *folded; /* word: folded form by ASCII code, 0 outside words; folded: of a sentence */
    Span *raw, *line;
    uint64_t *hashes;
    uint16_t *lengths;
    int64_t words, most_words; /* The reference reads a text with more words than most_words */
    int status;
} Work;

/* ---- characters ---- */

static inline const Entry *entry(const Work *w, Char c) {
#if defined(NARROW)
    return &w->ascii[c];
#else
    return c < PAGE_SIZE ? &w->ascii[c] : &w->pages[c >> PAGE_BITS][c & (PAGE_SIZE - 1)];
#endif
}
static inline uint32_t is(const Work *w, Char c, uint32_t classes) { return entry(w, c)->classes & classes; }

/* The first test is quick and rejects letters, which most characters are */
static inline int is_mark(Char c) { return c < 64 && (1ull << '.' | 1ull << '?' | 1ull << '!') >> c & 1; }

typedef Char Vector __attribute__((vector_size(16)));

/* Return the place of the next mark or ellipsis. Stretches of characters without any are skipped in one step. */
static int64_t next_mark(const Char *s, int64_t i, int64_t n) {
    for (; i + STRETCH <= n; i += STRETCH) {
        Vector any = {0}, c;
        uint64_t found[2];
        for (size_t j = 0; j < STRETCH; j += sizeof c / sizeof *s) {
            memcpy(&c, s + i + j, sizeof c);
            any |= (Vector)((c == '.') | (c == '?') | (c == '!') | IS_ELLIPSIS(c));
        }
        memcpy(found, &any, sizeof any);
        if (found[0] | found[1]) break;
    }
    while (i < n && !is_mark(s[i]) && !IS_ELLIPSIS(s[i])) i++;
    return i;
}

static int64_t find(const Char *s, int64_t from, int64_t stop, Char c) {
#if defined(NARROW)
    const Char *found = from < stop ? memchr(s + from, c, (size_t)(stop - from)) : NULL;
    return found ? found - s : from > stop ? from : stop;
#else
    while (from < stop && s[from] != c) from++;
    return from;
#endif
}

/* Do the same as str.lower; return the size, or -1 if a result depends on neighbouring characters (a capital sigma). */
static int64_t lower(Work *w, const Char *s, int64_t n, Char *out) {
    int64_t made = 0;
    for (int64_t i = 0; i < n; i++) {
        const Entry *e = entry(w, s[i]);
        if (e->classes & ODD_LOWER) { w->status = REFERENCE; return -1; }
        out[made++] = e->lower;
    }
    return made;
}

/* ---- the words of the sentence parameters ---- */

static uint64_t key_of(const Wide *s, int64_t n) {
    uint64_t h = 1469598103934665603u;
    for (int64_t i = 0; i < n; i++) h = (h ^ s[i]) * 1099511628211u;
    h ^= h >> 32;
    return h ? h : 1;
}

static int64_t slot_of(const Slot *slots, int64_t mask, const Wide *pool, const Wide *s, int64_t n, uint64_t key) {
    int64_t i = (int64_t)(key & (uint64_t)mask);
    for (; slots[i].hash; i = (i + 1) & mask)
        if (slots[i].hash == key && slots[i].size == n && !memcmp(pool + slots[i].at, s, (size_t)n * sizeof *s)) break;
    return i;
}

#if !defined(NARROW)
/* Put words into slots, of which at least half stay empty. Called once per language. */
void dedup_fill_slots(Slot *slots, int64_t mask, const Wide *pool, const int64_t *ends, const uint32_t *flags, int64_t n) {
    for (int64_t i = 0, at = 0; i < n; at = ends[i++]) {
        uint64_t key = key_of(pool + at, ends[i] - at);
        Slot *slot = &slots[slot_of(slots, mask, pool, pool + at, ends[i] - at, key)];
        slot->hash = key, slot->at = (uint32_t)at, slot->size = (uint32_t)(ends[i] - at), slot->flags = flags[i];
    }
}
#endif

static void widen(const Char *s, int64_t n, Wide *out) {
    for (int64_t i = 0; i < n; i++) out[i] = s[i];
}

static uint32_t flags_of_wide(const Parameters *p, const Wide *s, int64_t n) {
    return p->slots[slot_of(p->slots, p->mask, p->pool, s, n, key_of(s, n))].flags;
}

static uint32_t flags_of(Work *w, const Char *s, int64_t n) {
    Wide wide[KIND];
    widen(s, n, wide);
    return flags_of_wide(w->p, wide, n);
}

/* ---- sentences.py: does a sentence end here? ---- */

/* Match _SEVERAL, except for its third form: it needs two spaces, and a context has at most one. */
static int64_t several(const Char *s, int64_t i, int64_t n) {
    int64_t stop = i;
    if (s[i] == '-' || s[i] == '.') while (stop < n && s[stop] == s[i]) stop++;
    return stop - i >= 2 ? stop - i : 0;
}

static int ends_token(Work *w, const Char *s, int64_t i, int64_t n) {
    return i >= n || is(w, s[i], SPACE | NON_WORD) || several(s, i, n);
}

static int64_t token_size(Work *w, const Char *s, int64_t i, int64_t n) {
    int64_t stop = i + 1, size = several(s, i, n);
    if (size) return size;
    if (is(w, s[i], NO_START)) return 1;
    while (!ends_token(w, s, stop, n) && !(s[stop] == ',' && ends_token(w, s, stop + 1, n))) stop++;
    return stop - i;
}

typedef struct {
    const Char *s;
    int64_t n, kind_size;
    int abbreviated, ends, number;
    Char kind[KIND];
} Token;

static int is_number(Work *w, const Char *s, int64_t n) {
    int64_t i = 0;
    if (i < n && s[i] == '-') i++;
    if (i < n && (s[i] == '.' || s[i] == ',')) i++;
    if (i >= n || !is(w, s[i], DIGIT)) return 0;
    while (i < n && (is(w, s[i], DIGIT) || s[i] == ',' || s[i] == '.' || s[i] == '-')) i++;
    return i == n;
}

static void read_token(Work *w, Token *t, const Char *s, int64_t n) {
    static const char NUMBER[] = "##number##";
    t->s = s, t->n = n, t->abbreviated = t->ends = 0;
    t->kind_size = lower(w, s, n, t->kind);
    if (w->status) return;
    if (n == 1 && is_mark(s[0])) t->ends = 1;
    else if (s[n - 1] == '.' && !(n > 1 && s[n - 2] == '.')) {
        int64_t dash = n - 1;
        while (dash && t->kind[dash - 1] != '-') dash--;
        t->abbreviated = (flags_of(w, t->kind, n - 1) | flags_of(w, t->kind + dash, n - 1 - dash)) & ABBREVIATION;
        t->ends = !t->abbreviated;
    }
    t->number = is_number(w, s, n);
    if (t->number)
        for (t->kind_size = 0; NUMBER[t->kind_size]; t->kind_size++) t->kind[t->kind_size] = (Char)NUMBER[t->kind_size];
}

static int64_t without_period(const Token *t) {
    return t->kind_size > 1 && t->kind[t->kind_size - 1] == '.' ? t->kind_size - 1 : t->kind_size;
}

/* _starts. Return 1 for yes, 0 for no, -1 if the training corpus gives no evidence. */
static int starts(Work *w, const Token *t, uint32_t flags) {
    uint32_t seen = flags >> CONTEXT;
    if (t->n == 1 && is(w, t->s[0], PUNCTUATION)) return 0;
    if (is(w, t->s[0], UPPER)) return (seen & LOWER_SEEN) && !(seen & UPPER_WITHIN) ? 1 : -1;
    return is(w, t->s[0], LOWER) && ((seen & UPPER_SEEN) || !(seen & LOWER_FIRST)) ? 0 : -1;
}

static int ends_between(Work *w, const Token *a, const Token *b) {
    if (a->s[a->n - 1] != '.') return a->ends;
    int64_t size = without_period(a), next_size = b->ends ? without_period(b) : b->kind_size;
    uint32_t next = flags_of(w, b->kind, next_size);
    if (flags_of(w, a->kind, size) & FIRST) {
        Wide pair[2 * KIND + 1];
        widen(a->kind, size, pair);
        pair[size] = SEPARATOR;
        widen(b->kind, next_size, pair + size + 1);
        if (flags_of_wide(w->p, pair, size + 1 + next_size) & COLLOCATION) return 0;
    }
    int initial = a->n == 2 && is(w, a->s[0], RE_WORD) && !is(w, a->s[0], DIGIT);
    int ellipsis = a->n > 1 && a->s[0] == '.' && several(a->s, 0, a->n) == a->n;
    int start = starts(w, b, next), capital = is(w, b->s[0], UPPER) != 0;
    if ((a->abbreviated || ellipsis) && !initial && (start == 1 || (capital && (next & STARTER)))) return 1;
    if (initial || a->number) {
        if (start == 0) return 0;
        if (start < 0 && initial && capital) return a->ends && (next >> CONTEXT & LOWER_SEEN);
    }
    return a->ends;
}

static int context_ends(Work *w, const Char *s, int64_t n) {
    Token tokens[2];
    for (int64_t i = 0, count = 0;; count++) {
        while (i < n && is(w, s[i], SPACE)) i++;
        if (i >= n) return 0;
        int64_t size = token_size(w, s, i, n);
        read_token(w, &tokens[count & 1], s + i, size);
        if (w->status) return 0;
        if (count && ends_between(w, &tokens[~count & 1], &tokens[count & 1])) return 1;
        i += size;
    }
}

/* ---- sentences.py ---- */

/* SentenceSplitter._ends */
static int ends_at(Work *w, const Char *s, int64_t n, int64_t word, int64_t mark) {
    int64_t size = mark - word, stop = mark + 2, i = word;
    if (size > 1 && size <= MAX_CONTEXT) {
        while (i < mark && is(w, s[i], ALPHA)) i++;
        if (i == mark) {
            Char low[MAX_CONTEXT];
            if (s[mark] != '.') return 1;
            if (lower(w, s + word, size, low) < 0) return 0;
            if (!(flags_of(w, low, size) & UNCERTAIN)) return 1;
        }
    }
    if (size > MAX_CONTEXT) return 1;
    if (s[mark + 1] == ' ') {
        int64_t limit = mark + 1 + MAX_CONTEXT;
        stop = find(s, stop, limit < n ? limit : n, ' ');
    }
    return context_ends(w, s + word, (stop < n ? stop : n) - word);
}

static inline uint64_t mixed(uint64_t upper, uint64_t low) {
    uint64_t h = (upper >> 32 << 32) | low >> 32;
    h = (h ^ h >> 33) * 0xFF51AFD7ED558CCDu;
    h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53u;
    return h ^ h >> 33;
}

#if !defined(NARROW)
static uint64_t word_hash(const Parameters *p, const uint8_t *bytes, int64_t n) {
    const uint64_t *a = p->of_word, *b = a + 1 + MAX_WORD;
    uint64_t upper = a[0], low = b[0];
    for (int64_t i = 0, j = 1; i < n; i += 4, j++) {
        uint64_t x = bytes[i] | (uint32_t)bytes[i + 1] << 8 | (uint32_t)bytes[i + 2] << 16 | (uint32_t)bytes[i + 3] << 24;
        upper += x * a[j], low += x * b[j];
    }
    return mixed(upper, low);
}

/* `bytes` must have memory for four more bytes, which become zeros */
static void add_word(Work *w, uint8_t *bytes, int64_t size, int64_t characters) {
    if (w->words == w->most_words) { w->status = REFERENCE; return; }
    memset(bytes + size, 0, 4);
    w->hashes[w->words] = word_hash(w->p, bytes, size);
    w->lengths[w->words++] = (uint16_t)characters;
}
#endif

#if defined(NARROW)
static inline uint64_t eight_bytes(const uint8_t *s) {
    return s[0] | (uint64_t)s[1] << 8 | (uint64_t)s[2] << 16 | (uint64_t)s[3] << 24 | (uint64_t)s[4] << 32 |
           (uint64_t)s[5] << 40 | (uint64_t)s[6] << 48 | (uint64_t)s[7] << 56;
}

/* Return a bit for each zero byte of eight (Mycroft's test; it can be wrong after the first zero byte) */
static inline uint64_t zeros(uint64_t eight) { return (eight - 0x0101010101010101u) & ~eight & 0x8080808080808080u; }
static inline int64_t first_of(uint64_t bits) { return __builtin_ctzll(bits) >> 3; }

/* Hash the words of normalize.words. The end of a word is searched in eight bytes per step; few words have 16 or more. */
static void hash_words(Work *w, const Char *s, int64_t n) {
    const uint64_t *a = w->p->of_word, *b = a + 1 + MAX_WORD;
    uint64_t *hashes = w->hashes;
    uint16_t *lengths = w->lengths;
    uint8_t *folded = w->folded;
    int64_t words = w->words, most = w->most_words;
    for (int64_t i = 0; i < n; i++) folded[i] = w->word[s[i]];
    memset(folded + n, 0, 16);
    for (int64_t i = 0; i < n;) {
        uint64_t first = eight_bytes(folded + i), second = 0, ends = zeros(first), x, y;
        int64_t size;
        if (ends) {
            size = first_of(ends);
            first &= ((uint64_t)1 << 8 * size) - 1;
        } else {
            second = eight_bytes(folded + i + 8);
            ends = zeros(second);
            if (ends) {
                size = first_of(ends);
                second &= ((uint64_t)1 << 8 * size) - 1, size += 8;
            } else {
                for (size = 16; size < MAX_WORD && folded[i + size];) size++; /* zeros follow the last byte */
            }
        }
        if (size) {
            if (words == most) { w->status = REFERENCE; break; }
            x = a[0] + (first & 0xFFFFFFFFu) * a[1] + (first >> 32) * a[2];
            y = b[0] + (first & 0xFFFFFFFFu) * b[1] + (first >> 32) * b[2];
            if (size > 8) {
                x += (second & 0xFFFFFFFFu) * a[3] + (second >> 32) * a[4];
                y += (second & 0xFFFFFFFFu) * b[3] + (second >> 32) * b[4];
            }
            for (int64_t j = 16; j < size; j++) {
                uint64_t shifted = (uint64_t)folded[i + j] << 8 * (j & 3);
                x += shifted * a[1 + j / 4], y += shifted * b[1 + j / 4];
            }
            hashes[words] = mixed(x, y), lengths[words++] = (uint16_t)size;
        }
        i += size + (size < MAX_WORD);
    }
    w->words = words;
}
#else
typedef struct { uint8_t bytes[4 * MAX_WORD + 4]; int64_t size, characters; } Word;

static void end_word(Work *w, Word *word) {
    if (!word->characters || w->status) return;
    add_word(w, word->bytes, word->size, word->characters);
    word->size = word->characters = 0;
}

static void add_to_word(Work *w, Word *word, uint32_t folded) {
    Char c = folded & POINT;
    if (!(folded & IN_WORD)) { end_word(w, word); return; }
    if (word->characters == MAX_WORD) end_word(w, word);
    if (w->status) return;
    uint8_t *out = word->bytes + word->size;
    if (c < 0x80) *out++ = (uint8_t)c;
    else {
        if (c < 0x800) *out++ = (uint8_t)(0xC0 | c >> 6);
        else {
            if (c < 0x10000) *out++ = (uint8_t)(0xE0 | c >> 12);
            else *out++ = (uint8_t)(0xF0 | c >> 18), *out++ = (uint8_t)(0x80 | (c >> 12 & 63));
            *out++ = (uint8_t)(0x80 | (c >> 6 & 63));
        }
        *out++ = (uint8_t)(0x80 | (c & 63));
    }
    word->size = out - word->bytes;
    word->characters++;
}

/* Hash the words of normalize.words */
static void hash_words(Work *w, const Char *s, int64_t n) {
    Word word;
    word.size = word.characters = 0;
    for (int64_t i = 0; i < n; i++) {
        if (s[i] < PAGE_SIZE && word.characters < MAX_WORD) {
            uint8_t c = w->word[s[i]];
            if (c) word.bytes[word.size++] = c, word.characters++;
            else end_word(w, &word);
            continue;
        }
        const Entry *e = entry(w, s[i]);
        if (!(e->fold & MANY)) { add_to_word(w, &word, e->fold); continue; }
        const uint32_t *many = (const uint32_t *)w->call->pages[s[i] >> PAGE_BITS] + (e->fold & 0xFFFFFF);
        for (uint32_t j = 0; j < (e->fold >> 24 & 63); j++) add_to_word(w, &word, many[j]);
    }
    end_word(w, &word);
}
#endif

static int64_t sequence(Work *w, int64_t from, int64_t n) {
    const uint64_t *a = w->call->of_sequence, *b = a + w->call->sequence_stride, *h = w->hashes + from;
    uint64_t upper = a[0] + (uint64_t)n * a[1], low = b[0] + (uint64_t)n * b[1];
    for (int64_t i = 0; i < n; i++) {
        uint64_t x = h[i] & 0xFFFFFFFFu, y = h[i] >> 32;
        upper += x * a[2 + 2 * i] + y * a[3 + 2 * i], low += x * b[2 + 2 * i] + y * b[3 + 2 * i];
    }
    return (int64_t)((upper >> 32 << 32) | low >> 32);
}

static void add_sentence(Work *w, const Char *s, int64_t n) {
    int64_t from = w->words, characters = -1;
    hash_words(w, s, n);
    for (int64_t i = from; i < w->words; i++) characters += w->lengths[i] + 1;
    if (w->words - from <= w->call->sequence_words && w->words > from && characters >= w->p->min_characters)
        w->sentences[w->call->sentence_count++] = sequence(w, from, w->words - from);
}

/* Return the size of a match of _CLOSING at `at`, or 0; *bare becomes the size without the space. */
static int64_t closing(Work *w, const Char *s, int64_t at, int64_t stop, int64_t *bare) {
    for (int64_t i = at; i < stop && is(w, s[i], QUOTE);) {
        *bare = ++i - at;
        if (i == stop || (i + 1 < stop && s[i] == '-' && s[i + 1] == '-')) return i - at;
        if (s[i] == ' ') return i + 1 - at;
    }
    return 0;
}

typedef struct { int64_t from, stop; } Sentence;

/* Move quotes from the start of `next` to the end of the sentence before, and add that sentence. */
static void end_sentence(Work *w, const Char *s, Sentence *before, Sentence next) {
    int64_t bare = 0, moved = closing(w, s, next.from, next.stop, &bare);
    if (moved) before->stop = next.from + bare;
    if (before->from < before->stop) add_sentence(w, s + before->from, before->stop - before->from);
    before->from = next.from + moved, before->stop = next.stop;
}

/* Return whether a mark can end a sentence: the next character is not part of the same word. */
static int may_end(const Work *w, const Char *s, int64_t i, int64_t n) {
    return i + 1 < n && (is(w, s[i + 1], NON_WORD) || (s[i + 1] == ' ' && i + 2 < n));
}

/* SentenceSplitter._split */
static void split(Work *w, const Char *s, int64_t n) {
    int64_t start = 0, word = 0, stopped = 0, space = -1, seen = 0, held = -1, next = 0;
    Sentence before = {0, 0};
    for (int64_t i = next_mark(s, 0, n); i < n && !w->status; i = next_mark(s, i + 1, n)) {
        if (!is_mark(s[i]) || !may_end(w, s, i, n)) continue;
        int64_t back = i;
        while (back > seen && s[back - 1] != ' ') back--;
        if (back > seen) space = back - 1;
        seen = i;
        int64_t new_word = space > stopped ? space + 1 : word;
        if (held >= 0 && stopped <= new_word && ends_at(w, s, n, word, held)) {
            end_sentence(w, s, &before, (Sentence){start, held + 1});
            start = next;
        }
        held = i, next = s[i + 1] == ' ' ? i + 2 : i + 1, word = new_word, stopped = i;
    }
    if (held >= 0 && !w->status && ends_at(w, s, n, word, held)) {
        end_sentence(w, s, &before, (Sentence){start, held + 1});
        start = next;
    }
    if (w->status) return;
    end_sentence(w, s, &before, (Sentence){start, n});
    if (before.from < before.stop) add_sentence(w, s + before.from, before.stop - before.from);
}

/* ---- clean.py ---- */

static int is_address(Work *w, const Char *s, int64_t from, int64_t stop) {
    for (int64_t i = from; i < stop; i++) {
        if (s[i] == '@' || (s[i] == ':' && i + 2 < stop && s[i + 1] == '/' && s[i + 2] == '/')) return 1;
        if ((s[i] | 32) == 'w' && i + 3 < stop && (s[i + 1] | 32) == 'w' && (s[i + 2] | 32) == 'w' && s[i + 3] == '.' &&
            !(i && is(w, s[i - 1], RE_WORD)))
            return 1;
    }
    return 0;
}

/* Return whether the mark at i ends a sentence but lost the space after it; the next sentence begins at *to. */
static int is_glued(const Work *w, const Char *s, int64_t i, int64_t n, int64_t *to) {
    *to = i + 1 + (i + 1 < n && is(w, s[i + 1], GLUE_CLOSER) != 0);
    return i > 1 && *to + 1 < n && is(w, s[*to], UPPER) && is(w, s[*to + 1], LOWER) && is(w, s[i - 1], LOWER) &&
           is(w, s[i - 2], LOWER) && is(w, s[*to], LETTER) && is(w, s[*to + 1], LETTER) && is(w, s[i - 1], LETTER) &&
           is(w, s[i - 2], LETTER);
}

/* unglued. Return `block`, or `spare` with the lost spaces added; *n becomes the new size. */
static const Char *unglue(Work *w, int64_t *n) {
    const Char *s = w->block;
    int64_t made = 0, done = 0, word_stop = 0, to;
    int address = 0;
    for (int64_t i = next_mark(s, 0, *n); i < *n; i = next_mark(s, i + 1, *n)) {
        if (!is_glued(w, s, i, *n, &to)) continue;
        if (i >= word_stop) {
            int64_t start = i;
            while (start > 0 && s[start - 1] != ' ') start--;
            word_stop = find(s, to, *n, ' ');
            address = is_address(w, s, start, word_stop);
        }
        if (address) continue;
        memcpy(w->spare + made, s + done, (size_t)(to - done) * sizeof *s);
        made += to - done, done = to;
        w->spare[made++] = ' ';
    }
    if (!done) return s;
    memcpy(w->spare + made, s + done, (size_t)(*n - done) * sizeof *s);
    *n += made - done;
    return w->spare;
}

static void split_trimmed(Work *w, const Char *s, int64_t start, int64_t stop) {
    while (start < stop && s[start] == ' ') start++;
    while (start < stop && s[stop - 1] == ' ') stop--;
    if (start < stop) split(w, s + start, stop - start);
}

static void end_block(Work *w, int64_t n) {
    const Char *s = unglue(w, &n);
    int64_t start = 0;
    if (w->call->sentence_ends)
        for (int64_t i = 0, ended = 0; i < n && !w->status; i++) { /* _OTHER_SENTENCE */
            int end = is(w, s[i], SENTENCE_END) != 0, closed = ended && is(w, s[i], CLOSER);
            if (ended && !closed && (!end || is(w, s[i - 1], CLOSER))) {
                split_trimmed(w, s, start, i);
                start = i;
            }
            ended = end || closed;
        }
    if (!w->status) split_trimmed(w, s, start, n);
}

/* Replace matches of _DASHES in `block`, with `spare` as memory; return the new size of `block`. */
static int64_t space_dashes(Work *w, int64_t n) {
    Char *s = w->block, *t = w->spare;
    int64_t made = 0, start = 0;
    for (int64_t i = 0; i < n;) {
        if (s[i] != '-' || several(s, i, n) == 0) { t[made++] = s[i++]; continue; }
        for (int64_t size; (size = i < n ? several(s, i, n) : 0) && s[i] == '-';) {
            i += size;
            if (i < n && s[i] == ' ') i++;
        }
        if (made && t[made - 1] == ' ') made--;
        t[made++] = ' ', t[made++] = '-', t[made++] = '-', t[made++] = ' ';
    }
    while (made && t[made - 1] == ' ') made--;
    while (start < made && t[start] == ' ') start++;
    memcpy(s, t + start, (size_t)(made - start) * sizeof *s);
    return made - start;
}

/* Join words that a line break cut at a hyphen, and put spaces around dashes; return the new size of `block`. */
static int64_t join_hyphens(Work *w, int64_t n) {
    Char *s = w->block;
    int64_t made = 0;
    int dashes = 0;
    for (int64_t i = 0; i < n; i++) {
        int wrapped = s[i] == '-' && i && i + 2 < n && s[i + 1] == ' ' && is(w, s[i - 1], RE_WORD) && is(w, s[i + 2], RE_WORD);
        s[made++] = s[i];
        i += wrapped;
    }
    for (int64_t i = 0; i + 1 < made; i++) dashes |= s[i] == '-' && s[i + 1] == '-';
    return dashes ? space_dashes(w, made) : made;
}

/* _one_line */
static void join_lines(Work *w, int64_t first, int64_t stop) {
    Char *s = w->block;
    int64_t n = 0, made;
    Char hyphens = 0;
    for (int64_t i = first; i < stop; i++) {
        if (n) s[n++] = ' ';
        memcpy(s + n, w->lines + w->line[i].at, (size_t)w->line[i].size * sizeof *s);
        n += w->line[i].size;
    }
    for (int64_t i = 0; i + 1 < n; i++) hyphens |= (Char)((s[i] == '-') & ((s[i + 1] == ' ') | (s[i + 1] == '-')));
    if (hyphens) n = join_hyphens(w, n);
    if (w->call->ideographs) {
        made = 0;
        for (int64_t i = 0; i < n; i++) {
            if (s[i] == ' ' && i && i + 1 < n) {
                uint32_t before = is(w, s[i - 1], IDEOGRAPH | ASCII_WORD), after = is(w, s[i + 1], IDEOGRAPH | ASCII_WORD);
                if (s[i - 1] == '%') before |= ASCII_WORD;
                if (((before & IDEOGRAPH) && after) || (before && (after & IDEOGRAPH))) {
                    if (is(w, s[i + 1], COMBINES)) w->status = REFERENCE; /* NFC could join it to the character before */
                    continue;
                }
            }
            s[made++] = s[i];
        }
        n = made;
    }
    if (n && !w->status) end_block(w, n);
}

static int may_be_heading(Work *w, Span line) {
    const Char *s = w->lines + line.at;
    int64_t n = line.size;
    if (n > 60) return 0;
    while (n && is(w, s[n - 1], LINE_CLOSER)) n--;
    return !is(w, s[(n ? n : line.size) - 1], LINE_PUNCTUATION);
}

static int64_t widest(const Char *s, const Span *lines, int64_t count) {
    int64_t width = 0;
    for (int64_t i = 0; i < count; i++)
        if (lines[i].size > width && find(s + lines[i].at, 0, lines[i].size, ' ') < lines[i].size) width = lines[i].size;
    return width;
}

static int next_fits(const Char *s, const Span *line, int64_t width) {
    return line[0].size + 8 + find(s + line[1].at, 0, line[1].size, ' ') <= width;
}

#if defined(NARROW)
/* Return whether a line has only printable ASCII and single spaces */
static int is_plain(const Char *s, int64_t n) {
    uint8_t odd = 0;
    for (int64_t i = 0; i < n; i++) odd |= (uint8_t)((s[i] < ' ') | (s[i] > '~'));
    for (int64_t i = 0; i + 1 < n; i++) odd |= (uint8_t)((s[i] == ' ') & (s[i + 1] == ' '));
    return !odd;
}
#endif

/* _lines: `line` has the lines with single spaces, `raw` the lines with runs of spaces, for _Fits. */
static int64_t find_lines(Work *w, int64_t n) {
    const Char *text = w->text; /* Copy the pointer: byte writes may alias `w`, so w->text would be read again each time */
    Char *lines = w->lines;
    int64_t count = 0, made = 0;
    for (int64_t from = 0; from <= n; count++) {
        int64_t stop = find(text, from, n, '\n'), a = from, z = stop, begin = made;
        while (a < z && text[a] == ' ') a++;
        while (z > a && text[z - 1] == ' ') z--;
        w->raw[count].at = a, w->raw[count].size = z - a;
        from = stop + 1;
#if defined(NARROW)
        if (is_plain(text + a, z - a)) {
            memcpy(lines + made, text + a, (size_t)(z - a));
            made += z - a, w->line[count].at = begin, w->line[count].size = z - a;
            continue;
        }
#endif
        for (int64_t i = a; i < z; i++) {
            Char c = text[i];
            if ((c > ' ' && c <= '~') || !is(w, c, SPACE)) lines[made++] = c;
            else if (made > begin && lines[made - 1] != ' ') lines[made++] = ' ';
        }
        if (made > begin && lines[made - 1] == ' ') made--;
        w->line[count].at = begin, w->line[count].size = made - begin;
    }
    return count;
}

/* _blocks */
static void find_blocks(Work *w, int64_t count) {
    const Span *line = w->line;
    int64_t first = 0, raw_width = -1, width = -1;
    for (int64_t i = 0; i < count && !w->status; i++) {
        if (line[i].size) {
            if (i + 1 == count) break;
            if (!line[i + 1].size || !may_be_heading(w, line[i])) continue;
            if (width < 0) width = widest(w->lines, line, count), raw_width = widest(w->text, w->raw, count);
            if (width < 40 || (double)line[i].size > 0.6 * (double)width || is(w, w->lines[line[i + 1].at], LOWER)) continue;
            if (!next_fits(w->text, w->raw + i, raw_width) || !next_fits(w->lines, line + i, width)) continue;
        }
        join_lines(w, first, line[i].size ? i + 1 : i);
        first = i + 1;
    }
    if (!w->status) join_lines(w, first, count);
}

/* ---- room: working memory ---- */

/* In scripts/fuzz_native.py, a gap follows each part of the room (working memory); an access to a gap is an error */
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
enum { GAP = 64 };
#define FORBID(at, size) ASAN_POISON_MEMORY_REGION(at, size)
#define ALLOW(at, size) ASAN_UNPOISON_MEMORY_REGION(at, size)
#else
enum { GAP = 0 };
#define FORBID(at, size)
#define ALLOW(at, size)
#endif

/* Take room for `count` items of `size` bytes each. If the room is too small, is_room tells the needed bytes. */
static void *take(Work *w, int64_t count, size_t size) {
    char *found = w->call->room + w->room_taken;
    w->room_taken += ((count * (int64_t)size + 15) & ~(int64_t)15) + GAP;
    if (w->room_taken <= w->call->room_size) { FORBID(w->call->room + w->room_taken - GAP, GAP); }
    return found;
}

/* Return whether the room was large enough for all parts taken; set `wanted` to the needed bytes. */
static int is_room(Work *w) {
    w->call->wanted = w->room_taken;
    return w->room_taken <= w->call->room_size;
}

/* ---- signature.py ---- */

static int is_stop_word(const Parameters *p, uint64_t hash, int64_t length) {
    int64_t low = 0, high = p->stop_words_count;
    if (!high) return length < p->stop_length;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (p->stop_words[middle] < hash) low = middle + 1;
        else high = middle;
    }
    return low < p->stop_words_count && p->stop_words[low] == hash;
}

#define MINHASH(NAME, TARGET) \
    TARGET static void NAME(const uint32_t *restrict x, int64_t n, const uint32_t *multipliers, const uint32_t *increments, \
                            int64_t size, uint32_t *restrict values) { \
        for (int64_t i = 0; i < size; i += 32) { \
            uint32_t a[32] = {0}, b[32] = {0}, least[32]; \
            int64_t count = size - i < 32 ? size - i : 32; \
            memcpy(a, multipliers + i, (size_t)count * 4), memcpy(b, increments + i, (size_t)count * 4); \
            memset(least, 0xFF, sizeof least); \
            for (int64_t t = 0; t < n; t++) \
                for (int j = 0; j < 32; j++) { \
                    uint32_t value = a[j] * x[t] + b[j]; \
                    least[j] = value < least[j] ? value : least[j]; \
                } \
            memcpy(values + i, least, (size_t)count * 4); \
        } \
    }
MINHASH(minhash_plain, ) /* On 64-bit ARM the compiler uses NEON here, since every such processor has NEON */
#if defined(__x86_64__)
MINHASH(minhash_avx2, __attribute__((target("avx2"))))
static int has_avx2(void) { return __builtin_cpu_supports("avx2"); }
#else
#define minhash_avx2 minhash_plain
static int has_avx2(void) { return 0; }
#endif

typedef struct { int64_t hash, place; } Placed;

static int by_hash(const void *a, const void *b) {
    const Placed *x = a, *y = b;
    return x->hash != y->hash ? (x->hash > y->hash) - (x->hash < y->hash) : (x->place > y->place) - (x->place < y->place);
}

/* Remove repeated sentence hashes; the first of equal hashes stays. */
static void drop_repeated(Work *w) {
    Call *call = w->call;
    int64_t n = call->sentence_count, *sentences = w->sentences;
    Placed *room = take(w, n, sizeof *room + 1);
    if (!is_room(w)) { w->status = ROOM; return; }
    uint8_t *first = (uint8_t *)(room + n);
    for (int64_t i = 0; i < n; i++) room[i].hash = sentences[i], room[i].place = i;
    qsort(room, (size_t)n, sizeof *room, by_hash);
    for (int64_t i = 0; i < n; i++) first[room[i].place] = !i || room[i].hash != room[i - 1].hash;
    call->sentence_count = 0;
    for (int64_t i = 0; i < n; i++)
        if (first[i]) sentences[call->sentence_count++] = sentences[i];
}

/* Radix sort, which takes linear time even for values that a hostile writer chose */
static void sort(uint32_t *values, uint32_t *spare, int64_t n) {
    for (int shift = 0; shift < 32; shift += 8) {
        int64_t starts[257] = {0};
        for (int64_t i = 0; i < n; i++) starts[(values[i] >> shift & 255) + 1]++;
        for (int i = 0; i < 255; i++) starts[i + 1] += starts[i];
        for (int64_t i = 0; i < n; i++) spare[starts[values[i] >> shift & 255]++] = values[i];
        uint32_t *other = values;
        values = spare, spare = other;
    }
}

/* Write the distinct shingles to `found`; return their number. */
static int64_t find_shingles(Work *w, uint32_t *found) {
    const uint64_t *c = w->p->of_shingle;
    int64_t count = 0, different = 0;
    for (int64_t i = 0; i + SHINGLE_WORDS <= w->words; i++) {
        uint64_t sum = c[0];
        for (int j = 0; j < SHINGLE_WORDS; j++)
            sum += (w->hashes[i + j] & 0xFFFFFFFFu) * c[2 * j + 1] + (w->hashes[i + j] >> 32) * c[2 * j + 2];
        found[count] = (uint32_t)(sum >> 32); /* without a branch, since a processor cannot predict stop words */
        count += is_stop_word(w->p, w->hashes[i], w->lengths[i]);
    }
    uint32_t *spare = take(w, count, sizeof *spare);
    if (!is_room(w)) { w->status = ROOM; return 0; }
    sort(found, spare, count);
    for (int64_t i = 0; i < count; i++)
        if (!i || found[i] != found[i - 1]) found[different++] = found[i];
    return different;
}

static void sign(Work *w, uint32_t *found, uint32_t *values) {
    const Parameters *p = w->p;
    Call *call = w->call;
    call->shingle_count = find_shingles(w, found);
    if (w->status) return;
    if (!call->shingle_count) {
        for (int64_t i = 0; i < p->bands; i++) call->buckets[i] = call->content_hash;
        return;
    }
    (has_avx2() ? minhash_avx2 : minhash_plain)(found, call->shingle_count, p->multipliers, p->increments,
                                                p->signature_size, values);
    for (int64_t i = 0; i < p->signature_size; i++) {
        uint32_t h = (values[i] ^ values[i] >> 16) * 0x85EBCA6Bu;
        h = (h ^ h >> 13) * 0xC2B2AE35u;
        call->signature[i] = (uint8_t)(h ^ h >> 16);
    }
    for (int64_t i = 0; i < p->bands; i++) {
        const uint64_t *a = p->of_buckets + i * (1 + p->rows), *b = a + p->bands * (1 + p->rows);
        uint64_t upper = a[0], low = b[0];
        for (int64_t j = 0; j < p->rows; j++)
            upper += values[i * p->rows + j] * a[1 + j], low += values[i * p->rows + j] * b[1 + j];
        call->buckets[i] = (int64_t)((upper >> 32 << 32) | low >> 32);
    }
}

/* ---- one text ---- */

/* Maximum number of words: each has a space after it, unless one character becomes several words, which is rare */
static int64_t most_words(int64_t size) { return size / 2 + 64; }

#if !defined(NARROW)
/* Copy characters; if `line_ends`, each line end becomes a line feed. Return the size, or -1 if a page is missing. */
static int64_t read_text(Work *w, const void *data, int64_t n, int line_ends, Char *out) {
    Call *call = w->call;
    int64_t made = 0;
    int carriage = 0;
    for (int64_t i = 0; i < n; i++) {
        Char c = call->width == 1 ? ((const uint8_t *)data)[i] : ((const Char *)data)[i];
        if (c >= ' ' && c <= '~') { out[made++] = c, carriage = 0; continue; }
        if (!w->pages[c >> PAGE_BITS]) { call->wanted = c >> PAGE_BITS, w->status = PAGE; return -1; }
        int ends = line_ends && is(w, c, LINE_END);
        if (ends && c == 0x2029) out[made++] = '\n';
        if (!(line_ends && c == '\n' && carriage)) out[made++] = ends ? '\n' : c;
        carriage = c == '\r';
    }
    return made;
}

/* Put the words of the title and a slash before the words of the text, and hash the whole sequence. */
static void hash_title(Work *w, Char *room) {
    static const uint8_t SLASH[4] = {'/', 0, 0, 0};
    Call *call = w->call;
    int64_t words = w->words, most = most_words(call->title_size);
    memmove(w->hashes + most + 1, w->hashes, (size_t)words * sizeof *w->hashes);
    w->words = 0, w->most_words = most;
    int64_t n = read_text(w, call->title, call->title_size, 0, room);
    if (n >= 0) hash_words(w, room, n);
    if (w->status) return;
    w->hashes[w->words++] = word_hash(w->p, SLASH, 1);
    memmove(w->hashes + w->words, w->hashes + most + 1, (size_t)words * sizeof *w->hashes);
    w->words += words, call->wanted = w->words;
    if (w->words > call->sequence_words) w->status = SEQUENCE;
    else call->content_hash = sequence(w, 0, w->words);
}
#endif

/* Take all room except the room for sorting: at most 43 bytes per character, and 32 bytes per line in lay_out_lines */
static int lay_out(Work *w, Char **text, uint32_t **found, uint32_t **values) {
    Call *call = w->call;
    int64_t n = call->size, words = most_words(n);
#if !defined(NARROW)
    if (call->width > 1) /* a paragraph separator becomes two line feeds */
        for (int64_t i = 0; i < call->size; i++) n += ((const Char *)call->text)[i] == 0x2029;
#endif
    w->most_words = words;
    w->sentences = take(w, n + 1, sizeof(int64_t));
#if defined(NARROW)
    *text = NULL; /* the text is not copied */
    w->folded = take(w, 2 * n + 64, 1); /* as large as `spare`, since a sentence is smaller */
#else
    *text = take(w, n + call->title_size, sizeof(Char));
#endif
    w->block = take(w, 2 * n + 64, sizeof(Char)); /* "--" becomes " -- " */
    w->spare = take(w, 3 * n + 64, sizeof(Char)); /* unglue adds at most a space per five characters */
    w->lines = take(w, n, sizeof(Char));
    w->hashes = take(w, words + most_words(call->title_size) + 1, sizeof(uint64_t));
    w->lengths = take(w, words + most_words(call->title_size), sizeof(uint16_t));
    *found = take(w, words, sizeof(uint32_t)), *values = take(w, w->p->signature_size, sizeof(uint32_t));
    return is_room(w);
}

static int lay_out_lines(Work *w, int64_t n) {
    int64_t lines = 1;
    for (int64_t i = 0; i < n; i++) lines += w->text[i] == '\n';
    w->raw = take(w, lines, sizeof(Span)), w->line = take(w, lines, sizeof(Span));
    return is_room(w);
}

static int fingerprint(const Parameters *p, Call *call) {
    Char *text;
    uint32_t *found, *values;
    Work w = {0};
    w.p = p, w.call = call, w.pages = call->pages, w.ascii = w.pages[0];
    for (int c = 0; c < PAGE_SIZE; c++) w.word[c] = w.ascii[c].fold & IN_WORD ? (uint8_t)w.ascii[c].fold : 0;
    call->sentence_count = 0;
    if (!lay_out(&w, &text, &found, &values)) return ROOM;
#if defined(NARROW)
    int64_t n = call->size;
    w.text = call->text;
#else
    int64_t n = read_text(&w, call->text, call->size, 1, text);
    if (w.status) return w.status;
    w.text = text;
#endif
    if (!lay_out_lines(&w, n)) return ROOM;
    find_blocks(&w, find_lines(&w, n));
    if (w.status) return w.status;
    call->word_count = w.words;
    if (!w.words) return EMPTY;
    if (w.words < (p->min_words > 1 ? p->min_words : 1)) {
        call->sentence_count = 0;
#if !defined(NARROW)
        if (call->has_title) hash_title(&w, text);
#endif
        return w.status ? w.status : SHORT;
    }
    call->wanted = w.words;
    if (w.words > call->sequence_words) return SEQUENCE;
    call->content_hash = sequence(&w, 0, w.words);
    drop_repeated(&w);
    if (!w.status) sign(&w, found, values);
    return w.status;
}

#if defined(NARROW)
int dedup_fingerprint_narrow(const Parameters *p, Call *call) { return fingerprint(p, call); }
#else
int dedup_fingerprint_narrow(const Parameters *p, Call *call);

/* Return whether a text is ASCII, has no line ends other than line feeds, and comes without a title. */
static int is_narrow(const Call *call) {
    const uint8_t *s = call->text;
    uint8_t odd = call->width != 1 || call->has_title;
    if (!odd)
        for (int64_t i = 0; i < call->size; i++) odd |= (uint8_t)((s[i] >= 0x0B) & (s[i] <= '\r'));
    return !odd;
}

int dedup_fingerprint(const Parameters *p, Call *call) {
    int status = (is_narrow(call) ? dedup_fingerprint_narrow : fingerprint)(p, call);
    ALLOW(call->room, (size_t)call->room_size);
    return status;
}

/* Fill the rows of texts up to the first text with a status other than OK; return that status. */
static int add_rows(const Parameters *p, Call *call, Many *m) {
    for (int64_t i; (i = m->next) < m->count; m->next++) {
        call->text = m->texts[i], call->size = m->sizes[i], call->width = m->widths[i];
        call->ideographs = m->ideographs[i], call->sentence_ends = m->sentence_ends[i];
        call->buckets = m->buckets + i * p->bands, call->signature = m->signature + i * p->signature_size;
        int status = dedup_fingerprint(p, call);
        if (status != OK) return status;
        if (!call->shingle_count) memset(call->signature, 0, (size_t)p->signature_size);
        int64_t *start = m->sentences + m->sentence_starts[i];
        memcpy(start, call->room, (size_t)call->sentence_count * sizeof *start);
        m->sentence_starts[i + 1] = m->sentence_starts[i] + call->sentence_count;
        m->content_hash[i] = call->content_hash;
        m->word_count[i] = (int32_t)call->word_count, m->shingle_count[i] = (int32_t)call->shingle_count;
    }
    return OK;
}

int dedup_fingerprints(const Parameters *p, Call *call, Many *m) {
    int64_t *buckets = call->buckets;
    uint8_t *signature = call->signature;
    call->has_title = call->title_size = 0;
    int status = add_rows(p, call, m);
    call->text = NULL, call->buckets = buckets, call->signature = signature;
    return status;
}
#endif
