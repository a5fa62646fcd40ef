-- The rule for reprints that a machine misread (docs/semantics.md, section 4).

ALTER TABLE dedup.match DROP CONSTRAINT match_rule_check;
-- Not validated: all rows that there are keep to the other rules, and are not read again.
ALTER TABLE dedup.match ADD CONSTRAINT match_rule_check
    CHECK (rule IN ('pinned', 'content', 'sentences', 'signature', 'damaged', 'containment')) NOT VALID;
COMMENT ON COLUMN dedup.match.rule IS 'What decided: pinned, content, sentences, signature, damaged or containment.';
COMMENT ON COLUMN dedup.article_mark.reason IS 'The rule that decided: pinned, content, sentences, signature, damaged or containment; for failed articles why.';
COMMENT ON COLUMN dedup.duplicate.reason IS 'What decided: pinned, content, sentences, signature or damaged.';
COMMENT ON COLUMN dedup.scored_pair.rule IS 'What decided: pinned, content, sentences, signature, damaged or containment.';
