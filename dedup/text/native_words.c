/* Find listed words in parts of texts. word_finder.py prepares the words, and says what counts as one. */
#include <stdint.h>
#include <string.h>

enum { SYMBOL_BITS = 5, WINDOW = (1 << 3 * SYMBOL_BITS) - 1, LETTERS = 26, DIGIT = 27, LONGEST = 32 };
typedef struct { /* _WORD in word_finder.py */
    uint8_t bytes[LONGEST]; /* UTF-8, in lower case unless `exact` */
    int32_t size, exact, ends, next, flags;
} Word;

static uint8_t symbol(int c) { /* letters in either case: 1 to 26; digits: 27; all other bytes: 0 */
    int low = c | 0x20;
    return (uint8_t)(low >= 'a' && low <= 'z' ? low - 'a' + 1 : c >= '0' && c <= '9' ? DIGIT : 0);
}

/* Lower the case of a byte: of ASCII, or the second byte of a letter of Latin-1 */
static uint8_t lowered(const uint8_t *s) {
    int is_capital = (s[0] >= 'A' && s[0] <= 'Z') || (s[-1] == 0xC3 && s[0] >= 0x80 && s[0] <= 0x9E && s[0] != 0x97);
    return (uint8_t)(is_capital ? s[0] | 0x20 : s[0]);
}

static int is_here(const Word *w, const uint8_t *s) {
    for (int i = 0; i < w->size; i++)
        if ((w->exact ? s[i] : lowered(s + i)) != w->bytes[i]) return 0;
    s += w->size;
    int is_photo = symbol(s[0]) == symbol('p') && symbol(s[1]) == symbol('h'); /* captions can end with "(APPhoto)" */
    return !w->ends || !symbol(s[0]) || is_photo;
}

/* Return whether case folding turns a character that is not ASCII into ASCII letters: ß, İ, ŉ, ſ, ǰ, ẖ, K, ﬁ and others */
static int folds_to_ascii(const uint8_t *s) {
    switch (s[0]) {
    case 0xC3: return s[1] == 0x9F;
    case 0xC4: return s[1] == 0xB0;
    case 0xC5: return s[1] == 0x89 || s[1] == 0xBF;
    case 0xC7: return s[1] == 0xB0;
    case 0xE1: return s[1] == 0xBA;
    case 0xE2: return s[1] == 0x84;
    case 0xEF: return s[1] == 0xAC;
    default: return 0;
    }
}

/* Write into `found` the flags of the words in each part; all flags if a character of the part folds to ASCII letters.
   `bytes`: parts in UTF-8, each after a space, then LONGEST spaces. `starts`: the place of each part, and the place after
   the space that follows the last part. `first`: by the symbols of three bytes, the first word that begins so, or -1;
   `next` of a word: the next one. */
void dedup_find_words(const uint8_t *bytes, const int64_t *starts, int64_t parts, const int16_t *first, const Word *words, uint8_t all, uint8_t *found) {
    uint8_t symbols[256];
    for (int c = 0; c < 256; c++) symbols[c] = symbol(c);
    for (int64_t part = 0; part < parts; part++) {
        const uint8_t *s = bytes + starts[part], *stop = bytes + starts[part + 1] - 1;
        uint32_t before = 0, window = (uint32_t)symbols[s[0]] << SYMBOL_BITS | symbols[s[1]];
        uint8_t flags = 0;
        for (; s < stop; s++) {
            window = (window << SYMBOL_BITS | symbols[s[2]]) & WINDOW;
            int begins = before - 1 >= LETTERS; /* no letter precedes */
            before = window >> 2 * SYMBOL_BITS;
            if (s[0] >= 0xC3 && folds_to_ascii(s)) flags = all;
            if (begins & (first[window] >= 0))
                for (int16_t w = first[window]; w >= 0; w = (int16_t)words[w].next)
                    if (is_here(&words[w], s)) flags |= (uint8_t)words[w].flags;
        }
        found[part] = flags;
    }
}
