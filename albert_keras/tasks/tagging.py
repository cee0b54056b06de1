"""Tagging of words, such as named entities or parts of speech."""

import collections
import dataclasses
import itertools
import pathlib
import re
from typing import ClassVar, NamedTuple

import numpy as np

from albert_keras.checks import shown
from albert_keras.options import option
from albert_keras.preprocessors.tagged_words import align_tags, gather_words, words_of
from albert_keras.system.files import atomic_path
from albert_keras.tasks import entities, metrics, reading
from albert_keras.tasks.finetuning import FinetuningTask, PreparedRows, Recipe, files_of
from albert_keras.text.text_files import UTF_8, read_lines

_DOCUMENT_START = "-DOCSTART-"
WORD_KEYS = ("tokens", "words")
_TAG_KEYS = ("tags", "labels")


class TaggedSentences(NamedTuple):
    """Columns of sentences, in the order of the file.

    Attributes:
        words: list of lists of str.
        tags: list of lists of str, a tag for each word; None if unknown.
        texts: list of str with the words, or `""` for words joined by spaces; None if
            all are so.
    """

    words: list
    tags: list | None
    texts: list | None = None


class PredictedTags(NamedTuple):
    """Predictions for words.

    Attributes:
        tags: list of lists of str, a tag for each word.
        probabilities: list of lists of float, the probabilities of the tags; 0.0 for
            words without tokens.
    """

    tags: list
    probabilities: list


@dataclasses.dataclass(frozen=True)
class TaggingTask(FinetuningTask):
    """A tag for each word of sentences in CoNLL's columns, JSON lines or TFDS.

    Loss and predictions use the first token of each word. Tags of entities (BIO, IOB,
    IOBES) are scored by entity, as in the CoNLL shared tasks, other tags by word.

    Args:
        labels: Tuple of tags in the order of the logits. Default None: those of the
            training file, sorted.
        default: str. Tag for words without tokens. Default None: see `default_tag`.
        tag_feature: str. Name of the tags in TFDS; CoNLL 2003 has `"ner"`, `"pos"` and
            `"chunks"`.

    Reference: Devlin et al. 2019, section 5.3.
    """

    labels: tuple | None = None
    default: str | None = None
    tag_feature: str = option("tags of a TFDS data set (default: ner)", "ner")

    facts: ClassVar[tuple] = ("labels", "default")

    @property
    def main_metric(self):
        """`f1` of entities, or for other tags `accuracy` of words."""
        return "f1" if entities.are_entity_tags(self.labels) else "accuracy"

    def read(self, source, *, needs_labels=True):
        """Returns `TaggedSentences`."""
        rows = read_tagged(source, tag_feature=self.tag_feature, decoding=self.decoding)
        if needs_labels:
            reading.check_labelled(rows.tags, source, "a tag per word (--tag-feature)")
        # Test files may have other tags than the task.
        elif not set(itertools.chain(*rows.tags or ())) <= set(self.labels or ()):
            return rows._replace(tags=None)
        return rows

    def for_run(self, rows, tokenizer, labels=None, default=None):
        labels = labels or self.labels or sorted(set(itertools.chain(*rows.tags)))
        default = default or self.default or default_tag(rows.tags)
        return super().for_run(rows, tokenizer, labels=tuple(labels), default=default)

    def prepare(self, rows, *, training=False):
        """Returns `PreparedRows`. A long sentence gives several examples."""
        tag_ids = rows.tags and [metrics.label_ids(t, self.labels) for t in rows.tags]
        columns, options = (rows.words, tag_ids), self.packing_options()
        examples = align_tags(self.tokenizer.encoder, *columns, **options)
        return PreparedRows(rows, examples)

    def build_model(self, backbone):
        from albert_keras.models import AlbertTokenClassifier

        options = {"dropout": self.recipe.classifier_dropout, "labels": self.labels}
        return AlbertTokenClassifier(backbone, len(self.labels), **options)

    def predict(self, model, prepared, batch_size):
        """Returns the `PredictedTags` of words."""
        from scipy.special import softmax

        examples = prepared.examples
        found = np.zeros((examples.offsets[-1], len(self.labels)), np.float32)
        for rows, logits in self.outputs(model, examples, batch_size):
            lengths = examples.lengths[rows]
            # (batch, length)
            is_token = np.arange(logits.shape[1]) < lengths[:, np.newaxis]
            metrics.check_finite_outputs(logits[is_token])
            found[examples.token_positions(rows)] = logits[is_token]
        shares = softmax(found, axis=-1).max(axis=-1)
        words, default = prepared.rows.words, self.labels.index(self.default)
        word_tags = gather_words(examples, found.argmax(axis=-1), words, default)
        return PredictedTags(
            [[self.labels[tag] for tag in tags] for tags in word_tags],
            gather_words(examples, shares, words, 0.0),
        )

    def score(self, prepared, predictions):
        """Returns `accuracy` of words, and for entities `precision`, `recall`, `f1`."""
        ids, predicted_ids = self._ids_of(prepared, predictions)
        results = {"accuracy": metrics.accuracy(ids, predicted_ids)}
        if entities.are_entity_tags(self.labels):
            scores = entities.entity_scores(prepared.rows.tags, predictions.tags)
            results |= {name: scores[name] for name in ("precision", "recall", "f1")}
        return {
            **results,
            "majority_accuracy": metrics.majority_accuracy(ids),
            "num_examples": len(prepared.rows.tags),
            "num_words": len(ids),
            "num_predicted_labels": len(np.unique(predicted_ids)),
        }

    def report(self, prepared, predictions):
        """Returns the confusion matrix of tags, and entity scores by type."""
        ids = self._ids_of(prepared, predictions)
        report = metrics.classification_report(*ids, self.labels)
        if entities.are_entity_tags(self.labels):
            scores = entities.entity_scores(prepared.rows.tags, predictions.tags)
            report["entities"] = scores["types"]
        return report

    def _ids_of(self, prepared, predictions):
        """Returns the target and the predicted tag ids, each int32 `(num_words,)`."""
        columns = (prepared.rows.tags, predictions.tags)
        flat = ([*itertools.chain(*tags)] for tags in columns)
        return [metrics.label_ids(tags, self.labels) for tags in flat]

    def rows_of(self, samples):
        """Returns `TaggedSentences` of lists of words or of texts; see `words_of`.

        Samples may be dicts that have one of these as `tokens` or `words`.
        """
        (samples,) = reading.as_columns(samples, WORD_KEYS)
        texts = [sample if isinstance(sample, str) else "" for sample in samples]
        return TaggedSentences([words_of(sample) for sample in samples], None, texts)

    def describe(self, prepared, predictions):
        """Returns text, words, tags, and both as `label`: `word/tag word/tag`.

        If the tags are of entities, also `entities`; see `describe_entities`.
        """
        rows, has_entities = prepared.rows, entities.are_entity_tags(self.labels)
        texts, described = rows.texts or [""] * len(rows.words), []
        for text, *columns in zip(texts, rows.words, *predictions, strict=True):
            text, (words, tags, _) = text or " ".join(columns[0]), columns
            row = {"text": text, "words": words, "tags": tags}
            row["label"] = _labelled(words, tags)
            if has_entities:
                row["entities"] = entities.describe_entities(text, *columns)
            described.append(row)
        return described

    def truths(self, rows):
        return [[_labelled(*pair)] for pair in zip(rows.words, rows.tags, strict=True)]

    def has_submission(self, path):
        # Columns of words and tags.
        return path.suffix in (".tsv", ".txt", ".conll")

    def write_submission(self, path, prepared, predictions):
        """Writes columns of words, target tags if known, and predicted tags.

        An empty line ends a sentence, as `conlleval -d` and `read_tagged` expect.
        """
        for word in itertools.chain(*prepared.rows.words):
            if re.search(r"[\t\r\n]", word):
                raise ValueError(
                    "A word in columns must not hold a tab or a line break. Received: "
                    f"{word!r}. Write JSON lines (`--output FILE.jsonl`)."
                )
        columns = [*filter(None, prepared.rows[:2]), predictions.tags]
        lines = []
        for sentence in zip(*columns, strict=True):
            lines += ["\t".join(row) for row in zip(*sentence, strict=True)]
            lines.append("")
        with atomic_path(path) as temporary:
            temporary.write_text("\n".join(lines) + "\n", "utf-8")

    def text_keys(self, rows):
        return [tuple(words) for words in rows.words]


TAGGING = TaggingTask(
    files=files_of("train.txt", "valid.txt", "test.txt"),
    tfds_name="conll2003",
    tfds_splits={"train": "train", "validation": "dev"},
    # Devlin et al. 2019, appendix A.3: within its ranges of rates and epochs.
    recipe=Recipe(learning_rate=5e-5, batch_size=32, num_epochs=3, sequence_length=256),
)


def _labelled(words, tags):
    return " ".join(map("/".join, zip(words, tags, strict=True)))


def read_tagged(path, tag_feature="ner", decoding=UTF_8):
    """Reads words and their tags.

    *   Columns, as CoNLL's: each line has a word first and its tag last, separated by
        tabs, or if there are none by spaces. An empty line, or one that begins with
        `-DOCSTART-`, separates sentences. A file of one column has no tags.
    *   JSON lines (`.jsonl`) with a sentence each, `{"tokens": [...], "tags": [...]}`, or
        with the names `words` and `labels`. Tags may be numbers, or absent.
    *   TFDS: a feature `tokens` or `words`, and another sequence, as in
        `"tfds:conll2003:train"`.

    Args:
        path: str or path; `.gz` is decompressed. Or `"tfds:NAME:SPLIT"`.
        tag_feature: str. Name of the tags in TFDS. Default `"ner"`.
        decoding: `Decoding` of the file.

    Returns:
        `TaggedSentences`, at least one sentence.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If the file is empty or has another form, or only some sentences have
            tags; with the number of the line.
    """
    is_tfds = reading.is_tfds(path)
    if is_tfds or ".jsonl" in pathlib.Path(path).suffixes:
        keys = (tag_feature,) if is_tfds else _TAG_KEYS
        rows = reading.read_json_rows(path, decoding)
        # TFDS ends the splits of CoNLL 2003 with an empty sentence.
        sentences = (
            _sentence_of(place, row, keys)
            for place, row in rows
            if not is_tfds or reading.first_of(row, WORD_KEYS)
        )
    else:
        sentences = _read_columns(path, read_lines(path, decoding))
    sentences = list(sentences)
    if not sentences:
        raise ValueError(f"The file must hold a word. Received: '{path}', with none.")
    places, words, tags = map(list, zip(*sentences, strict=True))
    tags = reading.labels_or_none(tags, places, "sentences of a file must have tags")
    return TaggedSentences(words, tags)


def default_tag(tags):
    """Returns the tag for words without tokens, from the tags of training sentences.

    It is `"O"` if that occurs, as with all tags of entities, or else the most frequent
    tag.
    """
    counts = collections.Counter(itertools.chain(*tags))
    return max(counts, key=lambda tag: (tag == entities.OUTSIDE, counts[tag]))


def _read_columns(path, lines):
    """Yields the place (for errors), words and tags (or None) of each sentence."""
    num_columns = None
    rows = []
    # The last sentence may have no empty line after it.
    for number, line in enumerate(itertools.chain(lines, [""]), start=1):
        line = line.rstrip("\r\n")
        if line.strip(" \t") and not line.startswith(_DOCUMENT_START):
            columns = line.split("\t") if "\t" in line else re.findall("[^ ]+", line)
            place = f"'{path}', line {number}"
            num_columns = num_columns or len(columns)
            if len(columns) != num_columns or not (columns[0] and columns[-1]):
                raise ValueError(
                    "Each line must have a word first, a tag last, and as many columns "
                    f"as the line before. Received: {place}, with {len(columns)}, and "
                    f"{num_columns} before: {shown(line)}. Remove comments."
                )
            rows.append((place, columns[0], columns[-1] if num_columns > 1 else None))
        elif rows:
            places, words, tags = zip(*rows, strict=True)
            yield places[0], list(words), None if None in tags else list(tags)
            rows = []


def _sentence_of(place, row, tag_keys):
    """Returns the place, words and tags (or None) of a JSON object."""
    words, tags = reading.first_of(row, WORD_KEYS), reading.first_of(row, tag_keys)
    columns = [(words, str)] if tags is None else [(words, str), (tags, str | int)]
    if not words or not all(
        isinstance(column, list)
        and len(column) == len(words)
        and all(isinstance(each, kinds) and str(each) for each in column)
        for column, kinds in columns
    ):
        raise ValueError(
            f"Each row must have {' or '.join(WORD_KEYS)}, a list of texts that are not "
            f"empty, and {' or '.join(tag_keys)}, a list of as many tags, or none. "
            f"Received: {place}: {shown(row)}."
        )
    return place, words, tags and [*map(str, tags)]
