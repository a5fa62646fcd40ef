/* A cleaned-up text becomes what is kept of it: blocks, sentences, words, hashes, shingles, signature, buckets.
   Sections 1.1 to 1.8 of docs/semantics.md in one pass; the Python modules beside this file are the reference, and
   each function here names the one that it follows. Characters are code points. What a character is, comes from
   Python, in pages (native.py). No state but what the caller gives; memory is linear in the text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint32_t Char;

enum { /* Classes of characters; native.py has the same list */
    RE_WORD = 1, LETTER = 2, ALPHA = 4, LOWER = 8, UPPER = 16, DIGIT = 32, SPACE = 64, LINE_END = 128,
    IDEOGRAPH = 256, ASCII_WORD = 512, SENTENCE_END = 1024, OTHER_CLOSER = 2048, GLUE_MARK = 4096, GLUE_CLOSER = 8192,
    NON_WORD = 1 << 14, QUOTE = 1 << 15, LINE_CLOSER = 1 << 16, LINE_PUNCTUATION = 1 << 17, NO_START = 1 << 18,
    MARK = 1 << 19, PUNCTUATION = 1 << 20, COMBINES = 1 << 21, ODD_LOWER = 1 << 22
};
enum { OK, REFERENCE, EMPTY, SHORT, NO_MEMORY, PAGE, SEQUENCE }; /* What became of a text */
enum { ABBREVIATION = 1, STARTER = 2, UNCERTAIN = 4, FIRST = 8, COLLOCATION = 16, CONTEXT = 8 };
enum { UPPER_WITHIN = 4, UPPER_SEEN = 14, LOWER_FIRST = 16, LOWER_SEEN = 112 };
enum { MAX_WORD = 256, MAX_CONTEXT = 200, KIND = 1024, PAGE_SIZE = 128, PAGE_BITS = 7, SHINGLE_WORDS = 3 };
static const Char SEPARATOR = 0x110000; /* Between the words of a collocation */
static const uint32_t MANY = 1u << 31, IN_WORD = 1u << 30, POINT = 0x1FFFFF;

typedef struct { uint32_t classes, lower, fold; } Entry; /* fold: a point and IN_WORD, or MANY, count and place */
typedef struct { uint64_t hash; uint32_t at, size, flags, unused; } Slot;

typedef struct { /* What does not change from text to text: native.py's _Parameters */
    const uint64_t *of_word, *of_shingle, *of_buckets, *stop_words;
    const uint32_t *multipliers, *increments;
    const Slot *slots;
    const Char *pool;
    int64_t mask, stop_words_count, stop_length, min_characters, min_words, signature_size, bands, rows;
} Parameters;

typedef struct { /* One text: native.py's _Call */
    const Entry *const *pages;
    const uint64_t *of_sequence;
    const void *text, *title;
    int64_t size, width, title_size, has_title, sequence_stride, sequence_words, ideographs, sentence_ends;
    int64_t *sentences, *buckets;
    uint8_t *signature;
    int64_t sentence_count, content_hash, word_count, shingle_count, wanted;
} Call;

typedef struct { int64_t at, size; } Span;

typedef struct {
    const Parameters *p;
    Call *call;
    Char *text, *lines, *block, *spare;
    Span *raw, *line, *spans;
    uint64_t *hashes;
    uint16_t *lengths;
    int64_t words, most_words; /* Few characters become more than one word each; such texts are handed back */
    int status;
} Work;

/* ---- characters ---- */

static const Entry *entry(Work *w, Char c) { return &w->call->pages[c >> PAGE_BITS][c & (PAGE_SIZE - 1)]; }
static uint32_t is(Work *w, Char c, uint32_t classes) { return entry(w, c)->classes & classes; }

static int64_t find(const Char *s, int64_t from, int64_t stop, Char c) {
    while (from < stop && s[from] != c) from++;
    return from;
}

/* str.lower; the size, or -1 of what depends on its neighbours (a capital sigma). */
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

static uint64_t key_of(const Char *s, int64_t n) {
    uint64_t h = 1469598103934665603u;
    for (int64_t i = 0; i < n; i++) h = (h ^ s[i]) * 1099511628211u;
    h ^= h >> 32;
    return h ? h : 1;
}

static int64_t slot_of(const Slot *slots, int64_t mask, const Char *pool, const Char *s, int64_t n, uint64_t key) {
    int64_t i = (int64_t)(key & (uint64_t)mask);
    for (; slots[i].hash; i = (i + 1) & mask)
        if (slots[i].hash == key && slots[i].size == n && !memcmp(pool + slots[i].at, s, (size_t)n * sizeof *s)) break;
    return i;
}

/* Put words into slots, of which fewer than half may become full. Called once for a language. */
void dedup_fill_slots(Slot *slots, int64_t mask, const Char *pool, const int64_t *ends, const uint32_t *flags, int64_t n) {
    for (int64_t i = 0, at = 0; i < n; at = ends[i++]) {
        uint64_t key = key_of(pool + at, ends[i] - at);
        Slot *slot = &slots[slot_of(slots, mask, pool, pool + at, ends[i] - at, key)];
        slot->hash = key, slot->at = (uint32_t)at, slot->size = (uint32_t)(ends[i] - at), slot->flags = flags[i];
    }
}

static uint32_t flags_of(Work *w, const Char *s, int64_t n) {
    const Parameters *p = w->p;
    return p->slots[slot_of(p->slots, p->mask, p->pool, s, n, key_of(s, n))].flags;
}

/* ---- decisions.py: does a sentence end here? ---- */

/* _SEVERAL; its third form has two spaces, and a context has one at most. */
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
    if (n == 1 && is(w, s[0], MARK)) t->ends = 1;
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

/* 1: yes, 0: no, -1: the corpus does not say */
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
        Char pair[2 * KIND + 1];
        memcpy(pair, a->kind, (size_t)size * sizeof *pair);
        pair[size] = SEPARATOR;
        memcpy(pair + size + 1, b->kind, (size_t)next_size * sizeof *pair);
        if (flags_of(w, pair, size + 1 + next_size) & COLLOCATION) return 0;
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

static uint64_t word_hash(const Parameters *p, const uint8_t *bytes, int64_t n) {
    const uint64_t *a = p->of_word, *b = a + 1 + MAX_WORD;
    uint64_t upper = a[0], low = b[0];
    for (int64_t i = 0, j = 1; i < n; i += 4, j++) {
        uint64_t x = bytes[i] | (uint64_t)bytes[i + 1] << 8 | (uint64_t)bytes[i + 2] << 16 | (uint64_t)bytes[i + 3] << 24;
        upper += x * a[j], low += x * b[j];
    }
    uint64_t h = (upper >> 32 << 32) | low >> 32;
    h = (h ^ h >> 33) * 0xFF51AFD7ED558CCDu;
    h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53u;
    return h ^ h >> 33;
}

typedef struct { uint8_t bytes[4 * MAX_WORD + 4]; int64_t size, characters; } Word;

static void end_word(Work *w, Word *word) {
    if (!word->characters || w->status) return;
    if (w->words == w->most_words) { w->status = REFERENCE; return; }
    memset(word->bytes + word->size, 0, 4);
    w->hashes[w->words] = word_hash(w->p, word->bytes, word->size);
    w->lengths[w->words++] = (uint16_t)word->characters;
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

/* normalize.words, hashed */
static void hash_words(Work *w, const Char *s, int64_t n) {
    Word word;
    word.size = word.characters = 0;
    for (int64_t i = 0; i < n; i++) {
        const Entry *e = entry(w, s[i]);
        if (!(e->fold & MANY)) { add_to_word(w, &word, e->fold); continue; }
        const uint32_t *many = (const uint32_t *)w->call->pages[s[i] >> PAGE_BITS] + (e->fold & 0xFFFFFF);
        for (uint32_t j = 0; j < (e->fold >> 24 & 63); j++) add_to_word(w, &word, many[j]);
    }
    end_word(w, &word);
}

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
    if (w->words > w->call->sequence_words) w->status = SEQUENCE;
    else if (w->words > from && characters >= w->p->min_characters)
        w->call->sentences[w->call->sentence_count++] = sequence(w, from, w->words - from);
}

/* How much of a span of characters is _CLOSING, and without its space; 0 if it does not begin so. */
static int64_t closing(Work *w, const Char *s, int64_t at, int64_t stop, int64_t *bare) {
    for (int64_t i = at; i < stop && is(w, s[i], QUOTE);) {
        *bare = ++i - at;
        if (i == stop || (i + 1 < stop && s[i] == '-' && s[i + 1] == '-')) return i - at;
        if (s[i] == ' ') return i + 1 - at;
    }
    return 0;
}

/* SentenceSplitter._split */
static void split(Work *w, const Char *s, int64_t n) {
    int64_t count = 0, start = 0, word = 0, stopped = 0, space = -1, held = -1, next = 0, moved = 0;
    for (int64_t i = 0; i <= n && !w->status; i++) {
        if (i < n && s[i] == ' ') space = i;
        int last = i == n;
        if (!last && (!is(w, s[i], MARK) || i + 1 >= n || !(is(w, s[i + 1], NON_WORD) || (s[i + 1] == ' ' && i + 2 < n))))
            continue;
        int64_t new_word = space > stopped ? space + 1 : word;
        if (held >= 0 && (last || stopped <= new_word) && ends_at(w, s, n, word, held)) {
            w->spans[count].at = start, w->spans[count++].size = held + 1;
            start = next;
        }
        if (last) break;
        held = i, next = s[i + 1] == ' ' ? i + 2 : i + 1, word = new_word, stopped = i;
    }
    w->spans[count].at = start, w->spans[count++].size = n; /* here the size is where it stops */
    for (int64_t i = 0; i < count && !w->status; i++) {
        int64_t from = w->spans[i].at + moved, stop = w->spans[i].size, bare = 0;
        moved = 0;
        if (i + 1 < count) {
            moved = closing(w, s, w->spans[i + 1].at, w->spans[i + 1].size, &bare);
            if (moved) stop = w->spans[i + 1].at + bare;
        }
        if (from < stop) add_sentence(w, s + from, stop - from);
    }
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

/* unglued, from `block` to `spare`; the new size */
static int64_t unglue(Work *w, int64_t n) {
    const Char *s = w->block;
    int64_t made = 0, word_stop = 0, space = -1, stop = -1;
    int address = 0;
    for (int64_t i = 0; i < n; i++) {
        if (i == stop) w->spare[made++] = ' ';
        w->spare[made++] = s[i];
        if (s[i] == ' ') space = i;
        if (i < 2 || !is(w, s[i], GLUE_MARK) || !(is(w, s[i - 1], LOWER) && is(w, s[i - 2], LOWER))) continue;
        if (!(is(w, s[i - 1], LETTER) && is(w, s[i - 2], LETTER))) continue;
        int64_t to = i + 1 + (i + 1 < n && is(w, s[i + 1], GLUE_CLOSER) != 0);
        if (to + 1 >= n || !is(w, s[to], UPPER) || !is(w, s[to + 1], LOWER)) continue;
        if (!(is(w, s[to], LETTER) && is(w, s[to + 1], LETTER))) continue;
        if (i >= word_stop) {
            word_stop = find(s, to, n, ' ');
            address = is_address(w, s, space + 1, word_stop);
        }
        if (!address) stop = to;
    }
    return made;
}

static void end_block(Work *w, int64_t n) {
    n = unglue(w, n);
    const Char *s = w->spare;
    for (int64_t i = 1, start = 0; i <= n && !w->status; i++) {
        if (i < n && (!w->call->sentence_ends ||
                      !((is(w, s[i - 1], SENTENCE_END) && !is(w, s[i], SENTENCE_END | OTHER_CLOSER)) ||
                        (i > 1 && is(w, s[i - 2], SENTENCE_END) && is(w, s[i - 1], OTHER_CLOSER)))))
            continue;
        int64_t stop = i;
        while (start < stop && s[start] == ' ') start++;
        while (start < stop && s[stop - 1] == ' ') stop--;
        if (start < stop) split(w, s + start, stop - start);
        start = i;
    }
}

/* _DASHES, from `block` by way of `spare`; the new size */
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

/* _one_line */
static void join_lines(Work *w, int64_t first, int64_t stop) {
    Char *s = w->block;
    int64_t n = 0, made = 0;
    int dashes = 0;
    for (int64_t i = first; i < stop; i++) {
        if (n) s[n++] = ' ';
        memcpy(s + n, w->lines + w->line[i].at, (size_t)w->line[i].size * sizeof *s);
        n += w->line[i].size;
    }
    for (int64_t i = 0; i < n; i++) {
        int wrapped = s[i] == '-' && i && i + 2 < n && s[i + 1] == ' ' && is(w, s[i - 1], RE_WORD) && is(w, s[i + 2], RE_WORD);
        s[made++] = s[i];
        i += wrapped;
    }
    n = made;
    for (int64_t i = 0; i + 1 < n; i++) dashes |= s[i] == '-' && s[i + 1] == '-';
    if (dashes) n = space_dashes(w, n);
    if (w->call->ideographs) {
        made = 0;
        for (int64_t i = 0; i < n; i++) {
            if (s[i] == ' ' && i && i + 1 < n) {
                uint32_t before = is(w, s[i - 1], IDEOGRAPH | ASCII_WORD), after = is(w, s[i + 1], IDEOGRAPH | ASCII_WORD);
                if (s[i - 1] == '%') before |= ASCII_WORD;
                if (((before & IDEOGRAPH) && after) || (before && (after & IDEOGRAPH))) {
                    if (is(w, s[i + 1], COMBINES)) w->status = REFERENCE; /* it may change what is before it */
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

/* _lines, and the other measure of _Fits */
static int64_t find_lines(Work *w, int64_t n) {
    int64_t count = 0, made = 0;
    for (int64_t from = 0; from <= n; count++) {
        int64_t stop = find(w->text, from, n, '\n'), a = from, z = stop, begin = made;
        while (a < z && w->text[a] == ' ') a++;
        while (z > a && w->text[z - 1] == ' ') z--;
        w->raw[count].at = a, w->raw[count].size = z - a;
        for (int64_t i = a; i < z; i++) {
            if (!is(w, w->text[i], SPACE)) w->lines[made++] = w->text[i];
            else if (made > begin && w->lines[made - 1] != ' ') w->lines[made++] = ' ';
        }
        if (made > begin && w->lines[made - 1] == ' ') made--;
        w->line[count].at = begin, w->line[count].size = made - begin;
        from = stop + 1;
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
MINHASH(minhash_plain, ) /* NEON is in every 64-bit ARM, so the compiler uses it there */
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

/* Of equal sentences the first stays. `room`: for as many, and a byte for each. */
static void drop_repeated(Call *call, Placed *room) {
    int64_t n = call->sentence_count;
    uint8_t *first = (uint8_t *)(room + n);
    for (int64_t i = 0; i < n; i++) room[i].hash = call->sentences[i], room[i].place = i;
    qsort(room, (size_t)n, sizeof *room, by_hash);
    for (int64_t i = 0; i < n; i++) first[room[i].place] = !i || room[i].hash != room[i - 1].hash;
    call->sentence_count = 0;
    for (int64_t i = 0; i < n; i++)
        if (first[i]) call->sentences[call->sentence_count++] = call->sentences[i];
}

/* Radix sort: linear whatever the values, which a writer may have chosen */
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

/* The different shingles into `found`; how many. */
static int64_t find_shingles(Work *w, uint32_t *found) {
    const uint64_t *c = w->p->of_shingle;
    int64_t count = 0, different = 0;
    for (int64_t i = 0; i + SHINGLE_WORDS <= w->words; i++) {
        if (!is_stop_word(w->p, w->hashes[i], w->lengths[i])) continue;
        uint64_t sum = c[0];
        for (int j = 0; j < SHINGLE_WORDS; j++)
            sum += (w->hashes[i + j] & 0xFFFFFFFFu) * c[2 * j + 1] + (w->hashes[i + j] >> 32) * c[2 * j + 2];
        found[count++] = (uint32_t)(sum >> 32);
    }
    sort(found, w->block, count);
    for (int64_t i = 0; i < count; i++)
        if (!i || found[i] != found[i - 1]) found[different++] = found[i];
    return different;
}

static void sign(Work *w, uint32_t *found, uint32_t *values) {
    const Parameters *p = w->p;
    Call *call = w->call;
    call->shingle_count = find_shingles(w, found);
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

/* Its characters, with line ends made one, and of a title none; -1 with the page that is wanted. */
static int64_t read_text(Work *w, const void *data, int64_t n, int line_ends, Char *out) {
    Call *call = w->call;
    int64_t made = 0;
    int carriage = 0;
    for (int64_t i = 0; i < n; i++) {
        Char c = call->width == 1 ? ((const uint8_t *)data)[i] : ((const Char *)data)[i];
        if (!call->pages[c >> PAGE_BITS]) { call->wanted = c >> PAGE_BITS, w->status = PAGE; return -1; }
        int ends = line_ends && is(w, c, LINE_END);
        if (ends && c == 0x2029) out[made++] = '\n';
        if (!(line_ends && c == '\n' && carriage)) out[made++] = ends ? '\n' : c;
        carriage = c == '\r';
    }
    return made;
}

static void hash_title(Work *w, Char *room) {
    static const uint8_t SLASH[4] = {'/', 0, 0, 0};
    int64_t words = w->words, room_for = w->most_words;
    w->words = 0, w->most_words = w->call->title_size;
    memmove(w->hashes + w->call->title_size + 1, w->hashes, (size_t)words * sizeof *w->hashes);
    int64_t n = read_text(w, w->call->title, w->call->title_size, 0, room);
    if (n >= 0) hash_words(w, room, n);
    w->most_words = room_for;
    if (w->status) return;
    w->hashes[w->words++] = word_hash(w->p, SLASH, 1);
    memmove(w->hashes + w->words, w->hashes + w->call->title_size + 1, (size_t)words * sizeof *w->hashes);
    w->words += words;
    if (w->words > w->call->sequence_words) w->status = SEQUENCE;
    else w->call->content_hash = sequence(w, 0, w->words);
    w->call->wanted = w->words;
    w->words = words;
}

int dedup_fingerprint(const Parameters *p, Call *call) {
    int64_t most = 2 * call->size + 64, n = 0; /* U+2029 is two line feeds */
    size_t words = (size_t)(most + call->title_size + 64);
    Work w = {0};
    w.p = p, w.call = call, w.most_words = most;
    w.text = malloc((size_t)(most + call->title_size) * sizeof(Char)), w.lines = malloc((size_t)most * sizeof(Char));
    w.block = malloc((size_t)most * 2 * sizeof(Char)), w.spare = malloc((size_t)most * 4 * sizeof(Char));
    w.raw = malloc((size_t)most * sizeof(Span)), w.line = malloc((size_t)most * sizeof(Span));
    w.spans = malloc((size_t)most * 2 * sizeof(Span));
    w.hashes = malloc(words * sizeof(uint64_t)), w.lengths = malloc(words * sizeof(uint16_t));
    uint32_t *found = malloc(words * sizeof(uint32_t)), *values = malloc((size_t)p->signature_size * sizeof(uint32_t));
    call->sentence_count = 0;
    if (!w.text || !w.lines || !w.block || !w.spare || !w.raw || !w.line || !w.spans || !w.hashes || !w.lengths || !found || !values)
        w.status = NO_MEMORY;
    if (!w.status) n = read_text(&w, call->text, call->size, 1, w.text);
    if (!w.status) find_blocks(&w, find_lines(&w, n));
    call->word_count = w.words;
    if (w.status == SEQUENCE) call->wanted = w.words;
    if (!w.status && !w.words) w.status = EMPTY;
    if (!w.status && w.words < (p->min_words > 1 ? p->min_words : 1)) {
        call->sentence_count = 0;
        if (call->has_title) hash_title(&w, w.text);
        if (!w.status) w.status = SHORT;
    } else if (!w.status) {
        call->content_hash = sequence(&w, 0, w.words);
        drop_repeated(call, (Placed *)w.spans);
        sign(&w, found, values);
    }
    free(w.text), free(w.lines), free(w.block), free(w.spare), free(w.raw), free(w.line), free(w.spans);
    free(w.hashes), free(w.lengths), free(found), free(values);
    return w.status;
}
