"""Row 0p: the product's own rule with `damaged_print=on`: for scanned papers (docs/archives.md)."""

from __future__ import annotations

from dataclasses import dataclass, field

from dedup.base.settings import Settings
from dedup.extras.lab.methods.product import Product


@dataclass
class DamagedPrints(Product):
    row = "0p"
    name = "dedup-prints"
    about = "the same, and prints of letters"
    finds = "articles that share a sentence, a bucket of either kind or all words"

    settings: Settings = field(default_factory=lambda: Settings(damaged_print="on"))
