"""Text embedding: training on pairs and others, and scores of pairs and of search."""

import collections
import dataclasses
import itertools
import pathlib
from typing import ClassVar, NamedTuple

import numpy as np

from albert_keras.checks import check_json
from albert_keras.options import Range, option
from albert_keras.preprocessors.texts import numbers_of, pack_texts
from albert_keras.tasks.finetuning import FinetuningTask, PreparedRows, Recipe
from albert_keras.tasks.metrics import METRICS
from albert_keras.tasks.reading import as_columns, as_rows
from albert_keras.tasks.text_classification import reading
from albert_keras.text.tables import read_table
from albert_keras.text.text_files import read_json_lines

# The fields of `EmbeddingColumns` whose columns each objective needs.
OBJECTIVES = {
    "contrastive": ("text", "pair"),
    "cosent": ("text", "pair", "label"),
    "simcse": ("text",),
    "distillation": ("text", "label"),
}
# Dropout of SimCSE's two passes, as in its paper.
_DROPOUT = 0.1

# Queries whose products with all documents are in memory at once.
_BLOCK = 256


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
class EmbeddingColumns(reading.Columns):
    """`Columns` of pairs and triples. A label may be a vector, a list of numbers.

    Args:
        negative: str. Column of the text of another meaning, if the file has it.
    """

    pair: str | None = "text_pair"
    negative: str = "negative"

    def lacks(self, row, name):
        is_vector = name == self.label and isinstance(row.get(name), tuple)
        return not is_vector and super().lacks(row, name)


@dataclasses.dataclass(frozen=True)
class EmbeddingTask(FinetuningTask):
    """Vectors of texts, which are close if the texts have the same meaning.

    Args:
        columns: `EmbeddingColumns` of the files.
        objective: str, one of `OBJECTIVES`: the form of the rows, and the loss.
        pooling_mode: str. See `AlbertTextEmbedder`.
        least_dimensions: int, or None. See `EmbeddingLoss`.
        vector_dim: int, or None. Size of a teacher's vectors, set by `for_run`.
    """

    recipe: Recipe = Recipe(batch_size=64)
    columns: EmbeddingColumns = EmbeddingColumns()
    objective: str = option(
        "loss of embedders: `contrastive` for pairs or triples, `cosent` for pairs with "
        "scores, `simcse` for single texts, `distillation` for a teacher's vectors",
        "contrastive",
        choices=OBJECTIVES,
    )
    pooling_mode: str = option(
        "pooling of an embedder", "mean", choices=("mean", "cls", "max")
    )
    least_dimensions: int | None = option(
        "train embedders so that the first N dimensions are usable alone, and so are "
        "the first 2 N, 4 N and so on (default: all)",
        None,
        Range(1, 2**16),
    )
    vector_dim: int | None = None

    # Spearman's correlation, nDCG@10 or the mean cosine, depending on the rows.
    main_metric: ClassVar[str] = "score"
    facts: ClassVar[tuple] = ("vector_dim",)

    def for_run(self, rows, tokenizer, **facts):
        """Returns the task with a tokenizer and the size of a teacher's vectors."""
        if rows is not None:
            self._check_training(rows)
            if self.objective == "distillation":
                facts = {"vector_dim": len(rows.labels[0]), **facts}
        if self.objective == "simcse" and self.recipe.dropout is None:
            facts["recipe"] = dataclasses.replace(self.recipe, dropout=_DROPOUT)
        return super().for_run(rows, tokenizer, **facts)

    def _check_training(self, rows):
        if isinstance(rows, RetrievalRows):
            raise ValueError(
                "Rows to train on must be a table. Received: a data set of search."
            )
        has_vectors = bool(rows.labels) and np.ndim(rows.labels) == 2
        if has_vectors != (self.objective == "distillation"):
            raise ValueError(
                "Labels must be a teacher's vectors, lists of numbers, for distillation "
                f"and for nothing else. Received: objective={self.objective!r}, "
                f"vectors={has_vectors}."
            )
        if self.objective == "contrastive" and rows.labels:
            raise ValueError(
                "All pairs of contrastive training must have one meaning. Received: a "
                f"column `{self.columns.label}`. Remove it and the pairs of different "
                "meaning, or train on scores by --objective cosent."
            )

    def read(self, source, *, needs_labels=True):
        """Returns `EmbeddingRows` of a table or of TFDS, at least one row.

        A folder in BEIR's layout, with `corpus.jsonl`, `queries.jsonl` and
        `qrels/test.tsv`, or another file in its `qrels`, gives `RetrievalRows`.
        """
        path, columns, decoding = pathlib.Path(source), self.columns, self.decoding
        if (path / "corpus.jsonl").is_file():
            return _read_retrieval(path, path / "qrels" / "test.tsv", decoding)
        if path.parent.name == "qrels":
            return _read_retrieval(path.parents[1], path, decoding)
        required = [getattr(columns, name) for name in OBJECTIVES[self.objective]]
        names = (columns.text, columns.pair, columns.negative, columns.label)
        cells, num_skipped = reading.read_columns(
            source, columns, required, names, decoding
        )
        rows = EmbeddingRows(*map(cells.get, names), num_skipped)
        if not rows.labels:
            return rows
        if any(isinstance(label, tuple) for label in rows.labels):
            return rows._replace(labels=_vectors(rows.labels))
        # Labels without pairs are no scores.
        return rows._replace(
            labels=rows.pairs and [*reading.label_numbers(rows.labels)]
        )

    def prepare(self, rows, *, training=False):
        """Returns `PreparedRows`. In training the texts of a row are one example.

        Without a tokenizer there are no `Examples`.
        """
        if training:
            num_texts = {"contrastive": 3, "cosent": 2}.get(self.objective, 1)
            columns = [column for column in rows[:num_texts] if column]
            if self.objective == "simcse":
                # Each text is a pair of itself, by two passes with dropout.
                columns *= 2
            texts = [*itertools.chain.from_iterable(zip(*columns, strict=True))]
        else:
            columns = _measured(rows)
            texts = [*dict.fromkeys(itertools.chain.from_iterable(columns))]
        length, examples = self.recipe.sequence_length, None
        if self.tokenizer is not None:
            examples = pack_texts(self.tokenizer.encoder, texts, sequence_length=length)
        if not training:
            return PreparedRows(rows, examples, {t: n for n, t in enumerate(texts)})
        labels = rows.labels
        if self.objective in ("contrastive", "simcse"):
            labels = numbers_of(columns)
        examples = dataclasses.replace(examples, num_choices=len(columns))
        prepared = PreparedRows(rows, examples.with_arrays(labels=np.array(labels)))
        # Not 0.0, because of rounding.
        if self.prior_loss(prepared) < 1e-9:
            raise ValueError(
                "Rows to train on must differ, or the loss cannot fall. Received: "
                f"{len(rows.texts)} with the same texts, scores or vectors."
            )
        return prepared

    def build_model(self, backbone):
        from albert_keras.models import AlbertTextEmbedder

        dim, dense = backbone.hidden_dim, {}
        if self.vector_dim not in (None, dim):
            dim = self.vector_dim
            dense = {"dense_dim": dim, "dense_activation": "linear"}
        if (self.least_dimensions or 1) > dim:
            raise ValueError(
                f"`least_dimensions` must be at most the model's {dim}. "
                f"Received: least_dimensions={self.least_dimensions}."
            )
        return AlbertTextEmbedder(backbone, None, self.pooling_mode, **dense)

    def learner_of(self, model):
        from albert_keras.models import EmbeddingLearner

        return EmbeddingLearner(model)

    def losses(self):
        from albert_keras import models

        kinds = {"cosent": models.CosentLoss, "distillation": models.TeacherVectorLoss}
        kind = kinds.get(self.objective, models.ContrastiveLoss)
        return kind(self.least_dimensions)

    def metrics(self):
        return []

    def prior_loss(self, prepared):
        """Returns the loss of equal vectors; with a teacher, of the best equal ones."""
        labels = prepared.examples.example_arrays["labels"]
        size = self.recipe.batch_size
        if self.objective == "distillation":
            return float(_normalized(labels).var(axis=0).mean())
        if self.objective == "cosent":
            shares = np.unique(labels, return_counts=True)[1] / len(labels)
            size = min(size, len(labels))
            return float(np.log1p(size * (size - 1) / 2 * (1 - shares @ shares)))
        columns = [len(np.unique(column)) for column in labels.T]
        size = min(size, *columns[:2])
        others = min(len(np.unique(labels[:, 1:])), size * (labels.shape[1] - 1))
        return float(np.log(size * others) / 2)

    def score(self, prepared, predictions):
        """Returns `score`, the same under its own name, and `num_examples`.

        For pairs with scores it is Spearman's correlation with the cosines; for a
        teacher's vectors the mean cosine; for a data set of search, and for pairs without
        scores, where each text's pair is searched among all, nDCG@10, with recall and
        MRR.

        Args:
            prepared: `PreparedRows`.
            predictions: Vectors of the different texts, `(num_texts, embedding_dim)`.
        """
        rows, vectors = prepared.rows, _normalized(predictions)

        def vectors_of(texts):
            return vectors[[prepared.details[text] for text in texts]]

        if isinstance(rows, RetrievalRows):
            queries, names = vectors_of(rows.queries.values()), [*rows.documents]
            places = search(queries, vectors_of(rows.documents.values()), count=101)
            # A text is not found as its own document.
            found = [
                [names[place] for place in row if names[place] != query][:100]
                for query, row in zip(rows.queries, places, strict=True)
            ]
            scores = retrieval_scores(found, [*rows.relevance.values()])
            return {"score": scores["ndcg_at_10"], **scores, "num_examples": len(found)}
        if rows.labels is None:
            pairs = RetrievalRows.of_pairs(rows)
            scores = self.score(prepared._replace(rows=pairs), predictions)
            return {**scores, "num_examples": len(rows.texts)}
        is_taught = np.ndim(rows.labels) == 2
        others = _normalized(rows.labels) if is_taught else vectors_of(rows.pairs)
        cosines = (vectors_of(rows.texts) * others).sum(axis=1)
        name = "cosine" if is_taught else "spearman"
        value = cosines.mean() if is_taught else METRICS[name](rows.labels, cosines)
        value = float(value)
        return {"score": value, name: value, "num_examples": len(cosines)}

    def rows_of(self, samples):
        """Returns `EmbeddingRows` of samples, texts or dicts with a `text`."""
        (texts,) = as_columns(samples, ("text",))
        # Each text is its own pair, because `prepare` needs one.
        return EmbeddingRows(texts, texts)

    def describe(self, prepared, predictions):
        """Returns a dict of `text` and `embedding`, a list, for each text or query."""
        rows = prepared.rows
        texts = getattr(rows, "texts", None) or [*rows.queries.values()]
        vectors = predictions[[prepared.details[text] for text in texts]]
        return as_rows({"text": texts, "embedding": vectors.tolist()})

    def text_keys(self, rows):
        if isinstance(rows, RetrievalRows):
            return [*rows.queries.values()]
        return [*zip(*filter(None, rows[:2]), strict=True)]

    def split_keys(self, rows):
        """Returns the texts; one key for rows without scores, so none are held out."""
        has_score = rows.pairs or rows.labels
        return rows.texts if has_score else [""] * len(rows.texts)


def _measured(rows):
    """Returns the columns of texts of rows that can be scored."""
    if isinstance(rows, RetrievalRows):
        return [rows.queries.values(), rows.documents.values()]
    if rows.labels is None and rows.pairs is None:
        raise ValueError(
            "Rows to measure must have pairs, numbers or a teacher's vectors. "
            "Received: texts alone. Give others by --validation."
        )
    return [column for column in rows[:3] if column]


def _vectors(labels):
    """Returns a teacher's vectors, a list of float32 `(dim,)`."""
    sizes = {len(label) if isinstance(label, tuple) else 0 for label in labels}
    if len(sizes) > 1 or 0 in sizes:
        raise ValueError(
            "A teacher's vectors must be lists of the same length. "
            f"Received: sizes {', '.join(map(str, sorted(sizes)))}."
        )
    numbers = reading.label_numbers([*itertools.chain.from_iterable(labels)])
    return [*numbers.reshape(len(labels), -1)]


def _normalized(vectors):
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def _read_retrieval(folder, judgements, decoding):
    texts = {}
    for name in ("queries", "corpus"):
        texts[name] = {}
        for _, where, row in read_json_lines(folder / f"{name}.jsonl", decoding):
            check_json(row, {"_id": str, "text": str}, where, "row")
            text = f"{row.get('title') or ''} {row['text']}".strip()
            texts[name][row["_id"]] = text
    header = ("query-id", "corpus-id", "score")
    relevance = collections.defaultdict(dict)
    rows = [*read_table(judgements, columns=header)]
    scores = reading.label_numbers([row["score"] for _, row in rows])
    for (number, row), score in zip(rows, scores.tolist(), strict=True):
        query, document = row["query-id"], row["corpus-id"]
        if query not in texts["queries"] or document not in texts["corpus"]:
            raise ValueError(
                "A judgement must have a query and a document of the data set. "
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


def search(queries, documents, count=100):
    """Returns the documents with the greatest products with each query, best first.

    Args:
        queries, documents: float `(num_queries, dim)` and `(num_documents, dim)`.
        count: int. Documents to find for a query.

    Returns:
        Positions of documents, int `(num_queries, min(count, num_documents))`.

    Example:

    >>> search(np.eye(3)[:2], np.eye(3)[::-1], count=1).tolist()
    [[2], [1]]
    """
    count = min(count, len(documents))
    found = []
    for start in range(0, len(queries), _BLOCK):
        products = queries[start : start + _BLOCK] @ documents.T
        best = np.argpartition(-products, count - 1, axis=1)[:, :count]
        order = np.argsort(
            -np.take_along_axis(products, best, 1), axis=1, kind="stable"
        )
        found.append(np.take_along_axis(best, order, 1))
    return np.concatenate(found)


def retrieval_scores(found, relevance):
    """Returns the mean scores of queries.

    Args:
        found: List with the names of the documents found for each query, best first.
        relevance: List with a dict for each query, from names of documents to their
            relevance, above 0.

    Returns:
        Dict: `ndcg_at_10`, `recall_at_1`, `recall_at_10`, `recall_at_100`, `mrr_at_10`.

    Reference: Järvelin and Kekäläinen 2002, with gains as they are, as trec_eval.
    """
    discounts = 1 / np.log2(np.arange(10) + 2)
    sums = np.zeros(5)
    for names, gains in zip(found, relevance, strict=True):
        received = np.array([gains.get(name, 0.0) for name in names])
        best = np.sort([*gains.values()])[::-1][:10]
        top = received[:10]
        ranks = np.flatnonzero(top)
        sums += [
            top @ discounts[: len(top)] / (best @ discounts[: len(best)]),
            *(np.count_nonzero(received[:k]) / len(gains) for k in (1, 10, 100)),
            1 / (1 + ranks[0]) if len(ranks) else 0.0,
        ]
    names = ("ndcg_at_10", *(f"recall_at_{k}" for k in (1, 10, 100)), "mrr_at_10")
    return dict(zip(names, (sums / len(found)).tolist(), strict=True))
