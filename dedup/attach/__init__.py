"""Tables of others: how they are attached, what changes in them, what is written back."""
