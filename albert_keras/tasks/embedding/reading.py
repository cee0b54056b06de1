"""Reader of texts, pairs and triples, and of search data sets in BEIR's layout."""

import collections
import dataclasses
import itertools
import pathlib
from typing import NamedTuple

from albert_keras.checks import check_json, existing_file
from albert_keras.tasks.text_classification.reading import (
    Columns,
    each_row,
    label_numbers,
    whole_rows,
)
from albert_keras.text.tables import read_table
from albert_keras.text.text_files import UTF_8, read_json_lines


class EmbeddingRows(NamedTuple):
    """Columns of rows, in the order of the file.

    Attributes:
        texts: list of str.
        pairs, negatives: list of str, or None. Texts of the same meaning as `texts`, and
            of another meaning.
        labels: list of str, the scores of pairs; or of tuples of str, the vectors of a
            teacher; or None.
        num_skipped: int. Number of incomplete rows that were skipped.
    """

    texts: list
    pairs: list | None = None
    negatives: list | None = None
    labels: list | None = None
    num_skipped: int = 0


class RetrievalRows(NamedTuple):
    """A data set of search.

    Attributes:
        queries, documents: Dicts from names to texts.
        relevance: Dict from the name of a query to a dict from the name of a document to
            its relevance, above 0.
    """

    queries: dict
    documents: dict
    relevance: dict

    @classmethod
    def of_pairs(cls, rows):
        """Returns the task of finding each text's pair among all pairs and negatives."""
        relevance = collections.defaultdict(dict)
        for text, pair in zip(rows.texts, rows.pairs, strict=True):
            relevance[text][pair] = 1.0
        documents = itertools.chain(rows.pairs, rows.negatives or ())
        return cls({t: t for t in relevance}, {t: t for t in documents}, relevance)


@dataclasses.dataclass(frozen=True)
class EmbeddingColumns(Columns):
    """`Columns` of pairs and triples. A label may be a vector, a list of numbers.

    Args:
        negative: str. Column of the text of another meaning, if the file has it.
    """

    pair: str | None = "text_pair"
    negative: str = "negative"

    def lacks(self, row, name):
        is_vector = name == self.label and isinstance(row.get(name), tuple)
        return not is_vector and super().lacks(row, name)


def read_embedding_rows(source, columns, required, decoding=UTF_8):
    """Reads texts with their pairs, negatives and labels, or a data set of search.

    Args:
        source: str or path: a table (see `read_table`); `"tfds:NAME:SPLIT"`; a folder in
            BEIR's layout, with `corpus.jsonl`, `queries.jsonl` and `qrels/test.tsv`; or
            another file in its `qrels`.
        columns: `EmbeddingColumns`.
        required: Sequence of str. Names of columns that the table must have.
        decoding: `Decoding` of the file.

    Returns:
        `EmbeddingRows`, at least one row; or `RetrievalRows`.
    """
    folder = pathlib.Path(source)
    if (folder / "corpus.jsonl").is_file():
        return _read_retrieval(folder, folder / "qrels" / "test.tsv", decoding)
    if folder.parent.name == "qrels":
        return _read_retrieval(folder.parents[1], folder, decoding)
    names = (columns.text, columns.pair, columns.negative, columns.label)
    rows = list(each_row(source, columns, required, decoding))
    # Also columns that only some rows have.
    wanted = [n for n in names if n in required or any(r.get(n) for _, r in rows)]
    kept = whole_rows(source, columns, rows, wanted)
    found = ([row[n] for row in kept] if n in wanted else None for n in names)
    return EmbeddingRows(*found, num_skipped=len(rows) - len(kept))


def _read_retrieval(folder, judgements, decoding):
    texts = {}
    for name in ("queries", "corpus"):
        path = existing_file(folder / f"{name}.jsonl", name)
        texts[name] = {}
        for _, where, row in read_json_lines(path, decoding):
            check_json(row, {"_id": str, "text": str}, where, "row")
            text = f"{row.get('title') or ''} {row['text']}".strip()
            texts[name][row["_id"]] = text
    header = ("query-id", "corpus-id", "score")
    relevance = collections.defaultdict(dict)
    rows = [*read_table(existing_file(judgements, "qrels"), columns=header)]
    scores = label_numbers([row["score"] for _, row in rows])
    for (number, row), score in zip(rows, scores.tolist(), strict=True):
        query, document = row["query-id"], row["corpus-id"]
        if query not in texts["queries"] or document not in texts["corpus"]:
            raise ValueError(
                "Judgements must be of a query and a document. "
                f"Received: '{judgements}', line {number}, of {query} and {document}."
            )
        if score > 0:
            relevance[query][document] = score
    if not relevance:
        raise ValueError(
            "A query must have a document with a score above 0. "
            f"Received: '{judgements}', without."
        )
    queries = {name: texts["queries"][name] for name in relevance}
    return RetrievalRows(queries, texts["corpus"], dict(relevance))
