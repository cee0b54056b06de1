#!/usr/bin/env python3
"""Writes natural pairs of a corpus, on which a pretrained model learns to compare texts.

`overlap.csv` has pairs of sentences with the cosine of their TF-IDF vectors, from 0 to 5:
neighbors, sentences of one document that share words, two random ones, and sentences
with a copy that misses words. A model that predicts the number has learned to look for
the words of one text in the other, weighted by how rare they are.

`answers.csv` has questions with the sentence that answers them (`yes`), or another
sentence of the same paragraph (`no`). `pairs.csv` has texts that belong together, for
`--task embedding`: questions with answers and paragraphs, neighbors, copies.

example:
  tools/natural_pairs.py train_*.jsonl --questions squad/train-v1.1.json --output pairs
  albert-keras finetune --task pair-regression --train pairs/overlap.csv ...
"""

import bisect
import csv
import functools
import json
import pathlib
import random
import sys
from itertools import pairwise

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from albert_keras.tasks import TASKS
from albert_keras.text.sentences import split_sentences
from tools.experiments.baselines import WORDS
from tools.parser import new_parser

# Shares of the words that a copy misses, and how often its halves are swapped.
MISSING, SWAPPED = (0.1, 0.2, 0.3, 0.5), 0.4
# Sentences of a document that are compared with each other, and pairs taken of these.
COMPARED, TAKEN = 400, 8
HIGHEST = 5


def main(argv=None):
    """Writes the three files."""
    parser = new_parser(__doc__)
    add, path = parser.add_argument, {"type": pathlib.Path}
    add("texts", nargs="+", **path, help="JSON lines")
    add("--questions", required=True, **path, help="SQuAD's JSON")
    add("--output", required=True, **path, help="folder")
    arguments = parser.parse_args(argv)
    random.seed(0)
    documents = [*read_documents(arguments.texts)]
    neighbors = sample(
        [pair for lines in documents for line in lines for pair in pairwise(line)],
        120_000,
    )
    copies = [(first, copy_with_gaps(first)) for first, _ in sample(neighbors, 60_000)]
    answers, others, paragraphs = read_questions(arguments.questions)
    arguments.output.mkdir(parents=True, exist_ok=True)
    overlap = overlapping_pairs(documents, neighbors, copies)
    write(arguments.output / "overlap.csv", overlap)
    labelled = [(*pair, "yes") for pair in answers] + [(*pair, "no") for pair in others]
    write(arguments.output / "answers.csv", labelled)
    asked = sample(paragraphs, 60_000)
    write(arguments.output / "pairs.csv", neighbors + copies + answers + asked)


def read_documents(paths):
    """Yields the documents, as lists of lines, which are lists of sentences."""
    for path in sorted(paths):
        for row in path.read_text("utf-8").splitlines():
            lines = map(split_sentences, json.loads(row)["text"].split("\n"))
            lines = [[*filter(is_prose, line)] for line in lines]
            yield [line for line in lines if line]


def is_prose(sentence):
    """Returns whether a sentence is of usual length, and no table or formula."""
    letters = sum(map(str.isalpha, sentence))
    return 20 <= len(sentence) <= 300 and letters > 0.7 * len(sentence)


def read_questions(path):
    """Returns pairs of a question with its sentence, another one, and its paragraph."""
    answers, others, paragraphs = [], [], []
    for row in TASKS["squad"].read(path):
        question = row.question.strip()
        paragraphs.append((question, row.context))
        sentences, begins = sentences_of(row.context)
        _, start = row.answers[0]
        place = bisect.bisect(begins, start) - 1
        rest = sentences[:place] + sentences[place + 1 :]
        if rest and random.random() < 0.5:
            others.append((question, random.choice(rest)))
        else:
            answers.append((question, sentences[place]))
    return answers, others, paragraphs


@functools.cache
def sentences_of(context):
    """Returns the sentences of a paragraph, and the places where they begin."""
    sentences, begins, place = split_sentences(context), [], 0
    for sentence in sentences:
        begins.append(context.index(sentence, place))
        place = begins[-1] + len(sentence)
    return sentences, begins


def copy_with_gaps(sentence):
    """Returns a sentence without some of its words, its halves maybe swapped."""
    share = random.choice(MISSING)
    words = [word for word in sentence.split() if random.random() > share]
    words = words or sentence.split()
    if len(words) > 4 and random.random() < SWAPPED:
        cut = random.randrange(1, len(words) - 1)
        words = words[cut:] + words[:cut]
    return " ".join(words)


def overlapping_pairs(documents, neighbors, copies):
    """Returns pairs of sentences with the cosine of their TF-IDF vectors."""
    sentences = [sentence for lines in documents for line in lines for sentence in line]
    vectorizer = TfidfVectorizer(**WORDS, sublinear_tf=True, min_df=2)
    vectorizer.fit(sample(sentences, 300_000))
    pairs = sample(neighbors, 40_000) + sample(copies, 30_000)
    pairs += [random.sample(sentences, 2) for _ in range(10_000)]
    for lines in sample(documents, 4_000):
        inside = [sentence for line in lines for sentence in line][:COMPARED]
        if len(inside) > TAKEN:
            pairs += most_alike(inside, vectorizer)
    first, second = (vectorizer.transform(side) for side in zip(*pairs, strict=True))
    cosines = np.asarray(first.multiply(second).sum(axis=1)).ravel()
    return [
        (*pair, f"{HIGHEST * cosine:.2f}")
        for pair, cosine in zip(pairs, cosines, strict=True)
    ]


def most_alike(sentences, vectorizer):
    """Returns some sentences, each with the one that shares most with it."""
    vectors = vectorizer.transform(sentences)
    cosines = (vectors @ vectors.T).toarray()
    np.fill_diagonal(cosines, -1)
    chosen = random.sample(range(len(sentences)), TAKEN)
    return [(sentences[n], sentences[int(cosines[n].argmax())]) for n in chosen]


def sample(items, count):
    """Returns so many random items, or all."""
    return random.sample(items, min(len(items), count))


def write(path, rows):
    """Writes rows in random order."""
    random.shuffle(rows)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("text", "text_pair", "label")[: len(rows[0])])
        writer.writerows(rows)


if __name__ == "__main__":
    main()
