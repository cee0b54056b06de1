"""A small corpus and a labelled task, written for this project, for the quick start.

`corpus.txt` holds over 400 short stories and processes in which the order of the
sentences matters; `reviews_train.tsv` and `reviews_test.tsv` hold labelled opinions in
the same plain vocabulary.
"""

import pathlib

_FOLDER = pathlib.Path(__file__).parent

CORPUS = _FOLDER / "corpus.txt"
REVIEWS_TRAIN = _FOLDER / "reviews_train.tsv"
REVIEWS_TEST = _FOLDER / "reviews_test.tsv"
