/* Make the print (damaged-print signature) of a text from its letters (docs/semantics.md, section 1.9). damaged.py
   explains the bytes, and does the same with NumPy. The caller gives all memory: 24 bytes of room per letter. */
#include <stdint.h>
#include <string.h>

enum { CORE = 8, BEYOND = 5, SHIFT = 1, EDGE = CORE + BEYOND + SHIFT, SLOTS = 256, ROUNDS = 16 };
static const uint64_t STEP = 0x9E3779B97F4A7C15u;
static const uint32_t NOTHING = 0xFFFFFFFFu;

static inline uint64_t mixed(uint64_t h) { /* MurmurHash3's 64-bit finaliser */
    h = (h ^ h >> 33) * 0xFF51AFD7ED558CCDu;
    h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53u;
    return h ^ h >> 33;
}

/* Hash every run of `size` letters */
static void hash_grams(const uint32_t *letters, int64_t n, int size, const uint64_t *of_gram, uint64_t *out) {
    for (int64_t i = 0; i + size <= n; i++) {
        uint64_t h = of_gram[0];
        for (int j = 0; j < size; j++) h += of_gram[j + 1] * letters[i + j];
        out[i] = mixed(h);
    }
}

/* `room`: memory for 3 * n integers. `values`: SLOTS full 32-bit values, from which the caller makes bucket keys. Return
   the number of filled slots; 0 if there are too few letters. */
int64_t dedup_print(const uint32_t *letters, int64_t n, const uint64_t *of_gram, uint64_t *room, uint8_t *print, uint32_t *values) {
    uint64_t *cores = room, *beyond = room + n, *gram = room + 2 * n;
    uint32_t ties[SLOTS];
    int64_t places[SLOTS], count = n - CORE - 2 * EDGE + 1, full = 0;
    if (count < 1) return 0;
    hash_grams(letters, n, CORE, of_gram, cores);
    hash_grams(letters, n, BEYOND, of_gram, beyond);
    for (int64_t i = 0; i < count; i++) gram[i] = mixed(cores[i + EDGE - CORE] * STEP + cores[i + EDGE + CORE]);
    memset(values, 0xFF, SLOTS * sizeof *values);
    for (uint64_t round = 0; round < ROUNDS && full < SLOTS; round++)
        for (int64_t i = 0; i < count; i++) {
            uint64_t h = round ? mixed(cores[i + EDGE] + round * STEP) : cores[i + EDGE];
            uint32_t value = (uint32_t)(round << 24) | (uint32_t)h >> 8, tie = (uint32_t)gram[i];
            int slot = (int)(h >> 56);
            if (value > values[slot] || (value == values[slot] && tie >= ties[slot])) continue;
            full += values[slot] == NOTHING;
            values[slot] = value, ties[slot] = tie, places[slot] = i;
        }
    for (int i = 0; i < SLOTS && full < SLOTS; i++) { /* An empty slot copies the next full one */
        int j = i;
        while (values[j] == NOTHING) j = (j + 1) % SLOTS;
        for (int k = i; k != j; k = (k + 1) % SLOTS) values[k] = values[j], places[k] = places[j], full++;
    }
    for (int i = 0; i < SLOTS; i++) {
        const uint64_t *core = cores + places[i] + EDGE, *far = beyond + places[i] + EDGE;
        uint64_t bytes[] = {
            values[i], (uint64_t)places[i] * 256 / (uint64_t)count, core[-CORE], core[CORE],
            far[-CORE - BEYOND], far[-CORE - BEYOND - SHIFT], far[2 * CORE], far[2 * CORE + SHIFT],
        };
        for (int j = 0; j < 8; j++) print[j * SLOTS + i] = (uint8_t)bytes[j];
    }
    return full;
}
