"""Extractive question answering: SQuAD 1.1 and 2.0, CMRC 2018, and files like them."""

import dataclasses
import math
import pathlib
import weakref
from typing import ClassVar, NamedTuple

import keras
import numpy as np

from albert_keras.checks import check_choice
from albert_keras.files import write_json
from albert_keras.models import AlbertJointQuestionAnswerer, AlbertQuestionAnswerer
from albert_keras.tasks.base import Recipe
from albert_keras.tasks.finetuning import FinetuningTask, PreparedRows
from albert_keras.tasks.metrics import entropy
from albert_keras.tasks.question_answering.answer_files import write_answers
from albert_keras.tasks.question_answering.cmrc_metrics import cmrc_metrics
from albert_keras.tasks.question_answering.decoding import (
    apply_threshold,
    decode_answers,
)
from albert_keras.tasks.question_answering.random_spans import random_spans
from albert_keras.tasks.question_answering.reading import Question, read_questions
from albert_keras.tasks.question_answering.squad_metrics import (
    squad_v1_metrics,
    squad_v2_metrics,
)
from albert_keras.tasks.question_answering.windows import make_windows


class Scoring(NamedTuple):
    """How answers are scored.

    Attributes:
        measure: Function of questions and predicted texts by id to a dict of scores.
        main_metric: str. The score that decides which checkpoint is the best.
        has_null: bool. Whether a question may have no answer.
    """

    measure: object
    main_metric: str
    has_null: bool


SCORINGS = {
    "squad-1.1": Scoring(squad_v1_metrics, "f1", has_null=False),
    # By its best threshold, since none is fitted before the end.
    "squad-2.0": Scoring(squad_v2_metrics, "best_f1", has_null=True),
    "cmrc-2018": Scoring(cmrc_metrics, "average", has_null=False),
}

# Heads by name: the original's for 1.1, and its joint one for 2.0.
HEADS = {"plain": AlbertQuestionAnswerer, "joint": AlbertJointQuestionAnswerer}

# The beams of joint models, which are models of their own, made once for each.
_BEAMS = weakref.WeakKeyDictionary()


@dataclasses.dataclass(frozen=True)
class QuestionAnsweringTask(FinetuningTask):
    """The span of a text that answers a question, or that there is none.

    Args:
        scoring: str, of `SCORINGS`.
        head: str, of `HEADS`. Both can say that there is no answer: the plain head by
            the scores of [CLS] against the best span.
        doc_stride: int. Tokens from one window of a long text to the next.
        max_question_length: int. Most tokens of a question.
        max_answer_length: int. Most tokens of an answer.
        null_threshold: float, or None. A null score above it means no answer; fitted on
            held-out questions at the end of a run, and kept with it.

    Raises:
        ValueError: If the scoring or the head is unknown.

    Reference: google-research/albert squad_utils.py; its defaults.
    """

    tfds_splits: dict = dataclasses.field(
        default_factory=lambda: {"train": "train", "validation": "validation"}
    )
    scoring: str = "squad-1.1"
    head: str = "plain"
    doc_stride: int = 128
    max_question_length: int = 64
    max_answer_length: int = 30
    null_threshold: float | None = None

    facts: ClassVar[tuple] = ("null_threshold",)
    perfect_score: ClassVar[float] = 100.0

    def __post_init__(self):
        check_choice("scoring", self.scoring, SCORINGS)
        check_choice("head", self.head, HEADS)

    @property
    def main_metric(self):
        """The score that decides which checkpoint is the best."""
        return SCORINGS[self.scoring].main_metric

    def read(self, source, *, needs_labels=True):
        """Returns a list of `Question`."""
        questions = read_questions(source)
        has_null = SCORINGS[self.scoring].has_null
        unlabelled = [
            q for q in questions if not (q.answers or (q.is_impossible and has_null))
        ]
        if needs_labels and unlabelled:
            raise ValueError(
                "Training and evaluation need an answer to each question. "
                f"Received: '{source}', {len(unlabelled)} without, the first "
                f"{unlabelled[0].id!r}."
            )
        return questions

    def for_run(self, rows, tokenizer, null_threshold=None):
        """Returns the task with its tokenizer, and an earlier run's threshold."""
        return dataclasses.replace(
            self, tokenizer=tokenizer, null_threshold=null_threshold
        )

    def prepare(self, rows, *, training=False):
        """Returns `PreparedRows`, whose details are the `AnswerWindows`."""
        windows = make_windows(
            rows,
            self.tokenizer,
            sequence_length=self.recipe.sequence_length,
            doc_stride=self.doc_stride,
            max_question_length=self.max_question_length,
            with_answers=training,
        )
        return PreparedRows(rows, windows.examples, windows)

    def notes(self, prepared):
        """Returns how many training questions were lost, and why."""
        windows = prepared.details
        num_lost = sum(windows.lost.values())
        share = 100 * num_lost / len(prepared.rows)
        reasons = "".join(f"; {count} {why}" for why, count in windows.lost.items())
        return [
            f"{num_lost} of {len(prepared.rows)} questions lost ({share:.2f} %)"
            f"{reasons}; {windows.num_mended} answers were not where the file says",
            f"{windows.examples.num_examples} windows",
        ]

    def build_model(self, backbone):
        """Returns the head's model, fresh."""
        return HEADS[self.head](backbone, dropout=self.recipe.classifier_dropout)

    def load_model(self, folder):
        """Returns the model of a finished run."""
        return HEADS[self.head].from_preset(str(folder))

    def features(self, batch):
        """Returns what the model takes at prediction."""
        features = super().features(batch)
        if self.head == "joint":
            features["answer_mask"] = batch["answer_mask"]
        return features

    def assemble(self, batch):
        """Returns features and where answers begin and end, or that there is none."""
        features = self.features(batch)
        targets = {
            "start_logits": batch["start_positions"],
            "end_logits": batch["end_positions"],
        }
        if self.head == "joint":
            features["start_positions"] = batch["start_positions"]
            targets["answerability_logits"] = batch["is_impossible"]
        return features, targets

    def losses(self):
        """Returns the losses by output, which the model weights a half each."""
        losses = {
            name: keras.losses.SparseCategoricalCrossentropy(from_logits=True)
            for name in ("start_logits", "end_logits")
        }
        if self.head == "joint":
            losses["answerability_logits"] = keras.losses.BinaryCrossentropy(
                from_logits=True
            )
        return losses

    def metrics(self):
        """Returns the accuracies of starts and ends."""
        return {
            name: [keras.metrics.SparseCategoricalAccuracy(name="accuracy")]
            for name in ("start_logits", "end_logits")
        }

    def predict(self, model, prepared, batch_size):
        """Returns the `Answer` to each question."""
        if self.head == "joint":
            model = _beam_of(model)
        outputs = self.outputs(model, prepared.examples, batch_size)
        return decode_answers(
            prepared.rows,
            prepared.details,
            outputs,
            max_answer_length=self.max_answer_length,
        )

    def score(self, prepared, predictions):
        """Returns the official scores, in percent.

        Where there may be no answer, `exact` and `f1` are at the run's threshold, and
        `best_*` at the best one for these questions.
        """
        scoring = SCORINGS[self.scoring]
        texts = apply_threshold(predictions, None)
        results = (
            scoring.measure(
                prepared.rows, texts, _null_scores(predictions), self.null_threshold
            )
            if scoring.has_null
            else scoring.measure(prepared.rows, texts)
        )
        return {
            **results,
            "num_examples": len(prepared.rows),
            "num_predicted_labels": len(set(texts.values())),
        }

    def report(self, prepared, predictions):
        """Returns what spans drawn at random would score where there is an answer."""
        answered = [question for question in prepared.rows if question.answers]
        measure = SCORINGS[self.scoring].measure
        if not answered:
            return {}
        return {"random_spans": measure(answered, random_spans(answered))}

    def fitted(self, prepared, predictions):
        """Returns the task with the threshold that is best for held-out questions."""
        if not SCORINGS[self.scoring].has_null:
            return self
        threshold = self.score(prepared, predictions)["best_f1_thresh"]
        # Where it is best to answer none the official script says 0.0.
        least = min(answer.null_score for answer in predictions)
        fitted = [
            dataclasses.replace(self, null_threshold=value)
            for value in (threshold, math.nextafter(least, -math.inf))
        ]
        return max(fitted, key=lambda task: task.score(prepared, predictions)["f1"])

    def rows_of(self, texts):
        """Returns the `Question` made of a question and the text to be read."""
        if len(texts) != 2:
            raise ValueError(
                "A question and a text must be given. "
                f"Received: {len(texts)} texts. For more give a file by `--data`."
            )
        return [Question("0", *texts)]

    def describe(self, prepared, predictions):
        """Returns question, answer, null score, and the candidates with their places."""
        texts = apply_threshold(predictions, self.null_threshold)
        return [
            {
                "id": question.id,
                "text": question.question,
                "answer": texts[question.id],
                "null_score": answer.null_score,
                "probabilities": [c.probability for c in answer.candidates],
                "candidates": [candidate._asdict() for candidate in answer.candidates],
            }
            for question, answer in zip(prepared.rows, predictions, strict=True)
        ]

    def write_submission(self, path, prepared, predictions):
        """Writes the texts by question to a `.json` file, as SQuAD's server takes them.

        Of another path a folder is made, with null scores and candidates too.
        """
        if pathlib.Path(path).suffix == ".json":
            write_json(path, apply_threshold(predictions, self.null_threshold))
        else:
            write_answers(path, predictions, self.null_threshold)

    def text_keys(self, rows):
        """Returns each question with its text."""
        return [(question.question, question.context) for question in rows]

    def prior_loss(self, prepared):
        """Returns the loss of always giving the distribution of the answers' places.

        The joint head is told in training where an answer begins: of its ends, what is
        constant is the distribution of lengths.
        """
        arrays = prepared.examples.example_arrays
        starts, ends = arrays["start_positions"], arrays["end_positions"]
        constants = [starts, ends]
        if self.head == "joint":
            constants = [starts, ends - starts, arrays["is_impossible"]]
        return 0.5 * sum(entropy(np.bincount(values)) for values in constants)


def _beam_of(model):
    if model not in _BEAMS:
        _BEAMS[model] = model.beam_model()
    return _BEAMS[model]


def _null_scores(answers):
    return {answer.id: answer.null_score for answer in answers}


def _recipe(learning_rate, num_steps, warmup_steps, sequence_length):
    """A row of table 14 (Lan et al. 2020); both have batch 48."""
    return Recipe(
        learning_rate,
        batch_size=48,
        num_steps=num_steps,
        warmup_steps=warmup_steps,
        sequence_length=sequence_length,
        dropout=0.0,
    )


SQUAD = QuestionAnsweringTask(
    files={"train": "train-v1.1.json", "validation": "dev-v1.1.json"},
    tfds_name="squad/v1.1",
    recipe=_recipe(5e-5, 3649, 365, 384),
)

SQUAD2 = QuestionAnsweringTask(
    files={"train": "train-v2.0.json", "validation": "dev-v2.0.json"},
    tfds_name="squad/v2.0",
    scoring="squad-2.0",
    head="joint",
    recipe=_recipe(3e-5, 8144, 814, 512),
)

CMRC2018 = QuestionAnsweringTask(
    files={
        "train": "cmrc2018_train.json",
        "validation": "cmrc2018_dev.json",
        "test": "cmrc2018_trial.json",
    },
    scoring="cmrc-2018",
    max_answer_length=50,
    # Cui et al. 2019, arXiv 1810.07366, section 5.1, trained two epochs at 3e-5.
    recipe=Recipe(learning_rate=3e-5, num_epochs=2, sequence_length=512),
)
