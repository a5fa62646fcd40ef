"""What hangs on a `Deduplicator` beside its own methods: settings, pins, common sentences, judgements.

Each module has one class, which a `Deduplicator` makes; nobody makes them otherwise.
"""
