"""Export a corpus as Arrow tables; needs the extra `frames`."""

from dedup.base.extras import of_extra

with of_extra("dedup.frames", "frames"):
    from dedup.extras.frames.frames import (
        additions,
        credits,
        duplicates,
        figures,
        marks,
        matches,
        network,
        origins,
        panel,
        reader,
        stories,
    )

__all__ = ["additions", "credits", "duplicates", "figures", "marks", "matches", "network", "origins"]
__all__ += ["panel", "reader", "stories"]
