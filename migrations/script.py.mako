"""${message}"""

from __future__ import annotations

from dedup.db.migrate import refuse_downgrade

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}


def upgrade() -> None:
    ${upgrades if upgrades else "pass"}


def downgrade() -> None:
    refuse_downgrade()
