"""What people say about pairs of articles, and what follows from it.

`sampling` chooses the pairs worth a human look, `estimate` and `tuning` make precision, recall and thresholds
of the answers, `live` asks the corpus in the database, and `truth` and `groups` hold its marks against a file
of known duplicates. Answers are kept by `dedup.corpus.judgements`. None of it runs another method than
dedup's own: that is the lab.
"""
