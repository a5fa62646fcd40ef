-- Fingerprints from sentences, by the letter of docs/semantics.md, sections 1.3 to 1.9, in plain SQL.
--
-- `answers(vector)` takes a vector of docs/fingerprint_vectors.json and returns the fields that it makes. Before, fill
-- `unicode` with the characters of the vectors, `minhash_function` with the file's numbers, and call `learn` once per key.
-- Hashes of 64 bits are bigint. Products modulo 2^64 need numeric, since bigint has no overflow without an error.

CREATE SCHEMA specification;
SET search_path = specification, pg_catalog;

CREATE TABLE unicode (character text COLLATE "C" PRIMARY KEY, folded text NOT NULL, in_word boolean, letter boolean);
CREATE TABLE minhash_function (i integer PRIMARY KEY, multiplier bigint NOT NULL, increment bigint NOT NULL);
CREATE TABLE coefficient (secret bytea, name text, place integer, value numeric, PRIMARY KEY (secret, name, place));

CREATE FUNCTION print_keys() RETURNS integer IMMUTABLE LANGUAGE sql AS $$ SELECT 85 $$; -- Bucket keys of a print (1.9)

-- ---- numbers modulo 2^64 ----

CREATE FUNCTION to_unsigned(x bigint) RETURNS numeric IMMUTABLE LANGUAGE sql AS
$$ SELECT CASE WHEN x < 0 THEN x + 18446744073709551616 ELSE x END $$;

CREATE FUNCTION to_signed(x numeric) RETURNS bigint IMMUTABLE LANGUAGE sql AS
$$ SELECT (CASE WHEN r >= 9223372036854775808 THEN r - 18446744073709551616 ELSE r END)::bigint
   FROM (SELECT mod(x, 18446744073709551616) AS r) AS remainder $$;

CREATE FUNCTION shifted(x bigint, n integer) RETURNS bigint IMMUTABLE LANGUAGE sql AS
$$ SELECT (x >> n) & ((1::bigint << (64 - n)) - 1) $$;

-- MurmurHash3's finalisers of 64 and of 32 bits
CREATE FUNCTION finalised(h bigint) RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
    h := to_signed(to_unsigned(h # shifted(h, 33)) * 18397679294719823053);
    h := to_signed(to_unsigned(h # shifted(h, 33)) * 14181476777654086739);
    RETURN h # shifted(h, 33);
END $$;

CREATE FUNCTION product32(a bigint, x bigint) RETURNS bigint IMMUTABLE LANGUAGE sql AS
$$ SELECT ((((a * (x >> 16)) & 65535) << 16) + a * (x & 65535)) & 4294967295 $$;

CREATE FUNCTION signature_byte(h bigint) RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
    h := product32(h # (h >> 16), 2246822507);
    h := product32(h # (h >> 13), 3266489909);
    RETURN (h # (h >> 16)) & 255;
END $$;

-- ---- 1.4: coefficients, from SHAKE-256 (FIPS 202) ----

CREATE FUNCTION keccak(s bigint[]) RETURNS bigint[] IMMUTABLE LANGUAGE plpgsql AS $$
DECLARE
    constants constant text[] := '{0000000000000001,0000000000008082,800000000000808A,8000000080008000,000000000000808B,
        0000000080000001,8000000080008081,8000000000008009,000000000000008A,0000000000000088,0000000080008009,
        000000008000000A,000000008000808B,800000000000008B,8000000000008089,8000000000008003,8000000000008002,
        8000000000000080,000000000000800A,800000008000000A,8000000080008081,8000000000008080,0000000080000001,
        8000000080008008}';
    turns constant integer[] := '{1,3,6,10,15,21,28,36,45,55,2,14,27,41,56,8,25,43,62,18,39,61,20,44}';
    lanes constant integer[] := '{10,7,11,17,18,3,5,16,8,21,24,4,15,23,19,13,12,2,20,14,22,9,6,1}';
    c bigint[] := '[0:4]={0,0,0,0,0}';
    t bigint;
    kept bigint;
BEGIN
    FOR round IN 1..24 LOOP
        FOR x IN 0..4 LOOP
            c[x] := s[x] # s[x + 5] # s[x + 10] # s[x + 15] # s[x + 20];
        END LOOP;
        FOR x IN 0..4 LOOP
            t := c[(x + 4) % 5] # (c[(x + 1) % 5] << 1) # shifted(c[(x + 1) % 5], 63);
            FOR y IN 0..4 LOOP
                s[x + 5 * y] := s[x + 5 * y] # t;
            END LOOP;
        END LOOP;
        t := s[1];
        FOR i IN 1..24 LOOP
            kept := s[lanes[i]];
            s[lanes[i]] := (t << turns[i]) | shifted(t, 64 - turns[i]);
            t := kept;
        END LOOP;
        FOR y IN 0..4 LOOP
            FOR x IN 0..4 LOOP
                c[x] := s[x + 5 * y];
            END LOOP;
            FOR x IN 0..4 LOOP
                s[x + 5 * y] := c[x] # (~c[(x + 1) % 5] & c[(x + 2) % 5]);
            END LOOP;
        END LOOP;
        s[0] := s[0] # ('x' || trim(constants[round]))::bit(64)::bigint;
    END LOOP;
    RETURN s;
END $$;

CREATE FUNCTION lane(data bytea, at integer) RETURNS bigint IMMUTABLE LANGUAGE sql AS
$$ SELECT bit_or(get_byte(data, at + i)::bigint << (8 * i)) FROM generate_series(0, 7) AS i $$;

-- Return the output of SHAKE-256 as numbers of 8 bytes, little-endian. The message is one block: at most 135 bytes.
CREATE FUNCTION shake(message bytea, count integer) RETURNS SETOF bigint IMMUTABLE LANGUAGE plpgsql AS $$
DECLARE
    padded bytea := message || '\x1f'::bytea || decode(repeat('00', 135 - length(message)), 'hex');
    s bigint[] := '[0:24]={0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0}';
BEGIN
    padded := set_byte(padded, 135, get_byte(padded, 135) | 128);
    FOR i IN 0..16 LOOP
        s[i] := lane(padded, 8 * i);
    END LOOP;
    FOR i IN 0..count - 1 LOOP
        IF i % 17 = 0 THEN
            s := keccak(s);
        END IF;
        RETURN NEXT s[i % 17];
    END LOOP;
END $$;

-- Make the coefficients for a key, for words of at most 256 bytes. `secret` is the digest of the key, or empty.
CREATE FUNCTION learn(secret bytea, most_words integer) RETURNS void LANGUAGE sql AS $$
    INSERT INTO coefficient
    SELECT secret, name, number.place - 1, to_unsigned(number.value)
    FROM (SELECT 'word ' || half, 65 FROM unnest('{upper,lower}'::text[]) AS half
          UNION ALL SELECT 'sequence ' || half, 2 + 2 * most_words FROM unnest('{upper,lower}'::text[]) AS half
          UNION ALL SELECT format('bucket %s %s', i, half), 5
          FROM generate_series(0, 15) AS i, unnest('{upper,lower}'::text[]) AS half
          UNION ALL SELECT format('print %s %s', i, half), 4
          FROM generate_series(0, print_keys() - 1) AS i, unnest('{upper,lower}'::text[]) AS half
          UNION ALL VALUES ('shingle', 7), ('letters', 9), ('scope upper', 66), ('scope lower', 66)) AS needed (name, count),
         shake(convert_to('dedup ' || name, 'UTF8') || '\x00'::bytea || secret, count) WITH ORDINALITY AS number (value, place)
$$;

-- ---- 1.4: hashes ----

-- The sum that a half of a hash is made of, modulo 2^64
CREATE FUNCTION total(key bytea, called text, numbers bigint[]) RETURNS bigint STABLE LANGUAGE sql AS $$
    SELECT to_signed(sum(c.value * n.number)) FROM unnest(1::bigint || numbers) WITH ORDINALITY AS n (number, place)
    JOIN coefficient AS c ON c.place = n.place - 1 WHERE c.secret = key AND c.name = called
$$;

CREATE FUNCTION joined(key bytea, called text, numbers bigint[]) RETURNS bigint STABLE LANGUAGE sql AS $$
    SELECT (shifted(total(key, called || ' upper', numbers), 32) << 32)
           | shifted(total(key, called || ' lower', numbers), 32)
$$;

-- The bytes of a text, four per number, little-endian
CREATE FUNCTION numbers(given text) RETURNS bigint[] IMMUTABLE LANGUAGE sql AS $$
    SELECT coalesce(array_agg(n ORDER BY at), '{}')
    FROM (SELECT convert_to(given, 'UTF8') || '\x000000'::bytea AS data) AS padded,
         LATERAL (SELECT at, get_byte(data, at) + (get_byte(data, at + 1) << 8) + (get_byte(data, at + 2) << 16)
                             + (get_byte(data, at + 3)::bigint << 24) AS n
                  FROM generate_series(0, length(data) - 4, 4) AS at) AS numbers
$$;

CREATE FUNCTION word_hash(key bytea, word text) RETURNS bigint STABLE LANGUAGE sql AS
$$ SELECT finalised(joined(key, 'word', numbers(word))) $$;

CREATE FUNCTION scope_hash(key bytea, scope text) RETURNS bigint STABLE LANGUAGE sql AS
$$ SELECT finalised(joined(key, 'scope', octet_length(scope)::bigint || numbers(scope))) $$;

CREATE FUNCTION word_hashes(key bytea, words text[]) RETURNS bigint[] STABLE LANGUAGE sql AS
$$ SELECT array_agg(word_hash(key, word) ORDER BY n) FROM unnest(words) WITH ORDINALITY AS w (word, n) $$;

-- The low half and the high half of each hash
CREATE FUNCTION halves(hashes bigint[]) RETURNS bigint[] IMMUTABLE LANGUAGE sql AS $$
    SELECT coalesce(array_agg(n ORDER BY place, half), '{}') FROM unnest(hashes) WITH ORDINALITY AS h (hash, place),
           LATERAL (VALUES (0, hash & 4294967295), (1, shifted(hash, 32))) AS parts (half, n)
$$;

CREATE FUNCTION sequence_hash(key bytea, hashes bigint[]) RETURNS bigint STABLE LANGUAGE sql AS
$$ SELECT joined(key, 'sequence', cardinality(hashes)::bigint || halves(hashes)) $$;

-- ---- 1.3: words; runs of more than 30 marks are not cut, because the sentences of the vectors have none ----

CREATE FUNCTION folded(sentence text) RETURNS text STABLE LANGUAGE sql AS $$
    SELECT coalesce(string_agg(u.folded, '' ORDER BY n), '')
    FROM string_to_table(normalize(sentence, NFKC), NULL) WITH ORDINALITY AS s (c, n)
    JOIN unicode AS u ON u.character = s.c
$$;

CREATE FUNCTION words(sentence text) RETURNS text[] STABLE LANGUAGE sql AS $$
    SELECT coalesce(array_agg(piece[1] ORDER BY n), '{}')
    FROM (SELECT string_agg(CASE WHEN u.in_word THEN c ELSE ' ' END, '' ORDER BY n) AS line
          FROM string_to_table(folded(sentence), NULL) WITH ORDINALITY AS s (c, n)
          JOIN unicode AS u ON u.character = s.c) AS spaced,
         regexp_matches(line, '[^ ]{1,128}[^ ]{0,128}', 'g') WITH ORDINALITY AS m (piece, n)
$$;

-- ---- 1.6 to 1.8: shingles, signature, buckets ----

CREATE FUNCTION shingles(key bytea, listed text[], hashes bigint[], settings jsonb) RETURNS bigint[]
STABLE LANGUAGE sql AS $$
    SELECT coalesce(array_agg(DISTINCT shifted(total(key, 'shingle', halves(hashes[i : i + 2])), 32)), '{}')
    FROM generate_series(1, cardinality(listed) - 2) AS i, words(settings ->> 'stop_words') AS stops
    WHERE CASE WHEN cardinality(stops) > 0 THEN listed[i] = ANY (stops)
          ELSE length(listed[i]) < (settings ->> 'stop_word_length')::integer END
$$;

CREATE FUNCTION minhash(shingles bigint[], size integer) RETURNS bigint[] STABLE LANGUAGE sql AS $$
    SELECT coalesce(array_agg(least ORDER BY i), '{}')
    FROM (SELECT i, min((product32(multiplier, x) + increment) & 4294967295) AS least
          FROM minhash_function, unnest(shingles) AS x WHERE i < size GROUP BY i) AS found
$$;

CREATE FUNCTION bucket_keys(key bytea, kind text, minima bigint[], bands integer, rows integer) RETURNS bigint[]
STABLE LANGUAGE sql AS $$
    SELECT array_agg(joined(key, format('%s %s', kind, i), minima[i * rows + 1 : (i + 1) * rows]) ORDER BY i)
    FROM generate_series(0, bands - 1) AS i
$$;

-- ---- 1.9: prints ----

CREATE FUNCTION letters(given text) RETURNS bigint[] STABLE LANGUAGE sql AS $$
    SELECT coalesce(array_agg(ascii(c)::bigint ORDER BY n), '{}')
    FROM string_to_table(folded(given), NULL) WITH ORDINALITY AS s (c, n) JOIN unicode AS u ON u.character = s.c
    WHERE u.letter
$$;

-- The letters are numbered from 0, but an array's first element has the number 1.
CREATE FUNCTION make_print(key bytea, letters bigint[], OUT print bytea, OUT minima bigint[]) STABLE LANGUAGE sql AS $$
    WITH RECURSIVE size (n, m) AS (
        SELECT cardinality(letters), cardinality(letters) - 35
    ), run AS MATERIALIZED (
        SELECT p, finalised(total(key, 'letters', letters[p + 1 : p + 8])) AS eight,
               finalised(total(key, 'letters', letters[p + 1 : p + 5])) AS five
        FROM size, generate_series(0, n - 5) AS p
    ), core AS MATERIALIZED (
        SELECT run.p, run.eight,
               finalised(to_signed(to_unsigned(before.eight) * 11400714819323198485 + to_unsigned(behind.eight)))
               & 4294967295 AS tie
        FROM size, run JOIN run AS before ON before.p = run.p - 8 JOIN run AS behind ON behind.p = run.p + 8
        WHERE run.p BETWEEN 14 AND n - 22
    ), dealt AS MATERIALIZED (
        SELECT r, shifted(h, 56) AS slot, (r::bigint << 24) | ((h & 4294967295) >> 8) AS value, tie, p
        FROM core, generate_series(0, 15) AS r,
             LATERAL (SELECT CASE WHEN r = 0 THEN eight
                      ELSE finalised(to_signed(to_unsigned(eight) + r * 11400714819323198485)) END) AS hashed (h)
    ), filled AS (
        SELECT DISTINCT ON (slot) slot, value, p FROM dealt ORDER BY slot, r, value, tie, p
    ), slot AS MATERIALIZED (
        SELECT i, f.value, f.p FROM generate_series(0, 255) AS i,
               LATERAL (SELECT value, p FROM filled ORDER BY (slot - i + 256) % 256 LIMIT 1) AS f
    ), byte AS (
        SELECT plane, i, b & 255 AS b
        FROM size, slot, LATERAL (VALUES
            (1, value), (2, (p - 14) * 256 / m), (3, (SELECT eight FROM run WHERE run.p = slot.p - 8)),
            (4, (SELECT eight FROM run WHERE run.p = slot.p + 8)),
            (5, (SELECT five FROM run WHERE run.p = slot.p - 13)), (6, (SELECT five FROM run WHERE run.p = slot.p - 14)),
            (7, (SELECT five FROM run WHERE run.p = slot.p + 16)), (8, (SELECT five FROM run WHERE run.p = slot.p + 17))
        ) AS planes (plane, b)
    )
    SELECT decode(string_agg(lpad(to_hex(n >> (8 * i) & 255), 2, '0'), '' ORDER BY i), 'hex')
           || (SELECT decode(string_agg(lpad(to_hex(b), 2, '0'), '' ORDER BY plane, i), 'hex') FROM byte),
           (SELECT array_agg(value ORDER BY i) FROM slot)
    FROM size, generate_series(0, 3) AS i
$$;

-- ---- the vectors ----

-- Hashes, changed by the hash of a scope (1.13)
CREATE FUNCTION shown(hashes bigint[], change bigint) RETURNS jsonb IMMUTABLE LANGUAGE sql AS
$$ SELECT to_jsonb(ARRAY(SELECT (h # change)::text FROM unnest(hashes) WITH ORDINALITY AS u (h, n) ORDER BY n)) $$;

CREATE FUNCTION answers(vector jsonb) RETURNS jsonb STABLE LANGUAGE plpgsql AS $$
DECLARE
    settings jsonb := '{"text_min_words": 24, "sentence_min_characters": 20, "stop_word_length": 4, "stop_words": "",
                        "signature_size": 256, "bands": 16, "rows": 4, "damaged_print": "off"}' || (vector -> 'settings');
    key bytea := decode(coalesce(vector ->> 'secret', ''), 'hex');
    change bigint := CASE WHEN vector ? 'scope' THEN scope_hash(key, vector ->> 'scope') ELSE 0 END;
    bands integer := settings ->> 'bands';
    is_long boolean;
    listed text[] := '{}';
    hashes bigint[];
    title text[] := words(coalesce(vector ->> 'title', ''));
    sentences jsonb := '[]';
    counted bigint[] := '{}';
    one record;
    content bigint;
    found bigint[] := '{}';
    minima bigint[];
    keys bigint[] := '{}';
    characters bigint[];
    print bytea := decode(repeat('00', 2052), 'hex');
    answer jsonb;
BEGIN
    FOR one IN
        SELECT s ->> 'text' AS sentence, w AS words, word_hashes(key, w) AS hashes
        FROM jsonb_array_elements(vector -> 'sentences') WITH ORDINALITY AS e (s, n), words(s ->> 'text') AS w ORDER BY e.n
    LOOP
        listed := listed || one.words;
        hashes := hashes || one.hashes;
        content := CASE WHEN length(array_to_string(one.words, ' ')) >= (settings ->> 'sentence_min_characters')::integer
                   THEN sequence_hash(key, one.hashes) END;
        sentences := sentences || jsonb_build_object('text', one.sentence, 'words', one.words, 'hash', content::text);
        IF content IS NOT NULL AND content <> ALL (counted) THEN
            counted := counted || content;
        END IF;
    END LOOP;
    is_long := cardinality(listed) >= (settings ->> 'text_min_words')::integer;
    IF is_long THEN
        content := sequence_hash(key, hashes);
        found := shingles(key, listed, hashes, settings);
        minima := minhash(found, (settings ->> 'signature_size')::integer);
        keys := CASE WHEN cardinality(found) = 0 THEN array_fill(content, ARRAY[bands])
                ELSE bucket_keys(key, 'bucket', minima, bands, (settings ->> 'rows')::integer) END;
    ELSE
        content := sequence_hash(key, word_hashes(key, title || '/'::text || listed));
    END IF;
    answer := jsonb_build_object(
        'sentences', sentences,
        'word_hashes', (SELECT jsonb_object_agg(x, word_hash(key, x)::text)
                        FROM unnest(listed || title) AS x),
        'shingle_hashes', to_jsonb(found),
        'content_hash', (content # change)::text,
        'sentence_hashes', shown(CASE WHEN is_long THEN counted END, change),
        'signature', (SELECT coalesce(string_agg(lpad(to_hex(signature_byte(v)), 2, '0'), '' ORDER BY n), '')
                      FROM unnest(minima) WITH ORDINALITY AS u (v, n)),
        'buckets', shown(keys, change),
        'word_count', cardinality(listed),
        'shingle_count', cardinality(found)
    );
    IF settings ->> 'damaged_print' = 'on' THEN
        characters := letters(vector ->> 'text');
        IF cardinality(characters) >= 87 THEN
            SELECT m.print, m.minima INTO print, minima FROM make_print(key, characters) AS m;
            keys := bucket_keys(key, 'print', minima, print_keys(), 3);
        ELSE
            keys := array_fill(keys[1], ARRAY[print_keys()]);
        END IF;
        answer := answer || jsonb_build_object(
            'print_letters', CASE WHEN cardinality(characters) >= 87 THEN cardinality(characters) ELSE 0 END,
            'print_sha256', encode(sha256(print), 'hex'),
            'print_buckets', shown(keys, change)
        );
    END IF;
    RETURN answer;
END $$;
