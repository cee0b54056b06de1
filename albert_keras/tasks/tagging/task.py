"""Tagging of words, such as named entities or parts of speech."""

import dataclasses
import itertools
from typing import ClassVar

import numpy as np

from albert_keras.checks import check_is_list, shown
from albert_keras.options import option
from albert_keras.preprocessors.tagged_words import align_tags, gather_words, words_of
from albert_keras.tasks.finetuning import FinetuningTask, PreparedRows, Recipe
from albert_keras.tasks.metrics import (
    accuracy,
    check_finite_outputs,
    classification_report,
    label_ids,
    majority_accuracy,
)
from albert_keras.tasks.reading import check_keys, check_labelled, first_of
from albert_keras.tasks.tagging.entities import (
    are_entity_tags,
    describe_entities,
    entity_scores,
)
from albert_keras.tasks.tagging.reading import (
    WORD_KEYS,
    PredictedTags,
    TaggedSentences,
    default_tag,
    read_tagged,
    write_tagged,
)


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
        return "f1" if are_entity_tags(self.labels) else "accuracy"

    def read(self, source, *, needs_labels=True):
        """Returns `TaggedSentences`."""
        rows = read_tagged(source, tag_feature=self.tag_feature, decoding=self.decoding)
        if needs_labels:
            check_labelled(rows.tags, source, "a tag for each word")
        # Test files may have other tags than the task.
        elif not set(itertools.chain(*rows.tags or ())) <= set(self.labels or ()):
            return rows._replace(tags=None)
        return rows

    def for_run(self, rows, tokenizer, labels=None, default=None):
        labels = labels or self.labels or sorted(set(itertools.chain(*rows.tags)))
        return dataclasses.replace(
            self,
            labels=tuple(labels),
            default=default or self.default or default_tag(rows.tags),
            tokenizer=tokenizer,
        )

    def prepare(self, rows, *, training=False):
        """Returns `PreparedRows`. A long sentence gives several examples."""
        tag_ids = rows.tags and [label_ids(tags, self.labels) for tags in rows.tags]
        examples = align_tags(
            self.tokenizer.encoder,
            rows.words,
            tag_ids,
            sequence_length=self.recipe.sequence_length,
        )
        return PreparedRows(rows, examples)

    def build_model(self, backbone):
        from albert_keras.models import AlbertTokenClassifier

        return AlbertTokenClassifier(
            backbone,
            len(self.labels),
            dropout=self.recipe.classifier_dropout,
            labels=self.labels,
        )

    def predict(self, model, prepared, batch_size):
        """Returns the `PredictedTags` of words."""
        from scipy.special import softmax

        examples = prepared.examples
        found = np.zeros((examples.offsets[-1], len(self.labels)), np.float32)
        for rows, logits in self.outputs(model, examples, batch_size):
            lengths = examples.lengths[rows]
            # (batch, length)
            is_token = np.arange(logits.shape[1]) < lengths[:, np.newaxis]
            check_finite_outputs(logits[is_token])
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
        results = {"accuracy": accuracy(ids, predicted_ids)}
        if are_entity_tags(self.labels):
            scores = entity_scores(prepared.rows.tags, predictions.tags)
            results |= {name: scores[name] for name in ("precision", "recall", "f1")}
        return {
            **results,
            "majority_accuracy": majority_accuracy(ids),
            "num_examples": len(prepared.rows.tags),
            "num_words": len(ids),
            "num_predicted_labels": len(np.unique(predicted_ids)),
        }

    def report(self, prepared, predictions):
        """Returns the confusion matrix of tags, and entity scores by type."""
        ids = self._ids_of(prepared, predictions)
        report = classification_report(*ids, self.labels)
        if are_entity_tags(self.labels):
            scores = entity_scores(prepared.rows.tags, predictions.tags)
            report["entities"] = scores["types"]
        return report

    def _ids_of(self, prepared, predictions):
        """Returns the target and the predicted tag ids, each int32 `(num_words,)`."""
        columns = (prepared.rows.tags, predictions.tags)
        return [label_ids([*itertools.chain(*tags)], self.labels) for tags in columns]

    def rows_of(self, samples):
        """Returns `TaggedSentences` of lists of words or of texts; see `words_of`.

        Samples may be dicts that have one of these as `tokens` or `words`.
        """
        check_is_list("samples", samples)
        samples = [_sentence_of(sample) for sample in samples]
        texts = [sample if isinstance(sample, str) else "" for sample in samples]
        return TaggedSentences([words_of(sample) for sample in samples], None, texts)

    def describe(self, prepared, predictions):
        """Returns text, words, tags, and both as `label`: `word/tag word/tag`.

        If the tags are of entities, also `entities`; see `describe_entities`.
        """
        rows, has_entities = prepared.rows, are_entity_tags(self.labels)
        texts, described = rows.texts or [""] * len(rows.words), []
        for text, *columns in zip(texts, rows.words, *predictions, strict=True):
            text, (words, tags, _) = text or " ".join(columns[0]), columns
            row = {"text": text, "words": words, "tags": tags}
            row["label"] = _labelled(words, tags)
            if has_entities:
                row["entities"] = describe_entities(text, *columns)
            described.append(row)
        return described

    def truths(self, rows):
        return [[_labelled(*pair)] for pair in zip(rows.words, rows.tags, strict=True)]

    def has_submission(self, path):
        # Columns of words and tags.
        return path.suffix in (".tsv", ".txt", ".conll")

    def write_submission(self, path, prepared, predictions):
        """Writes columns of words, target tags if known, and predicted tags."""
        words, tags, _ = prepared.rows
        write_tagged(path, words, predictions.tags, tags)

    def text_keys(self, rows):
        return [tuple(words) for words in rows.words]


TAGGING = TaggingTask(
    files={"train": "train.txt", "validation": "valid.txt", "test": "test.txt"},
    tfds_name="conll2003",
    tfds_splits={"train": "train", "validation": "dev"},
    # Devlin et al. 2019, appendix A.3: within its ranges of rates and epochs.
    recipe=Recipe(learning_rate=5e-5, batch_size=32, num_epochs=3, sequence_length=256),
)


def _labelled(words, tags):
    return " ".join(map("/".join, zip(words, tags, strict=True)))


def _sentence_of(sample):
    """Returns the sentence of a sample, which may be a dict."""
    if not isinstance(sample, dict):
        return sample
    sentence = first_of(sample, WORD_KEYS)
    if sentence is None:
        raise ValueError(
            f"A sample must be a sentence, or a dict with {' or '.join(WORD_KEYS)}. "
            f"Received: {shown(sample)}."
        )
    check_keys(sample, WORD_KEYS)
    return sentence
