"""Give marks to one article at once or to all waiting articles together; explain and verify marks."""
