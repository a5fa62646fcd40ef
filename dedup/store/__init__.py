"""Read and write the corpus, without deciding marks; most modules have an SQL file of the same name."""
