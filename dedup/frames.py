"""Export a corpus as Arrow tables; needs the extra `frames`."""

from dedup.base.extras import of_extra

with of_extra("dedup.frames", "frames"):
    from dedup.extras.frames.frames import additions, duplicates, figures, marks, matches, reader, stories

__all__ = ["additions", "duplicates", "figures", "marks", "matches", "reader", "stories"]
