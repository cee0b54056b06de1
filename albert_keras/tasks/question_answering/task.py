"""Extractive question answering: SQuAD 1.1 and 2.0, CMRC 2018, and files like them."""

import dataclasses
import math
import pathlib
from collections.abc import Callable
from typing import ClassVar, NamedTuple

import numpy as np

from albert_keras.checks import check_choice
from albert_keras.options import Range, option
from albert_keras.preprocessors.answer_spans import Question
from albert_keras.preprocessors.answer_windows import make_windows
from albert_keras.system.files import write_json
from albert_keras.tasks.finetuning import FinetuningTask, PreparedRows
from albert_keras.tasks.metrics import entropy
from albert_keras.tasks.question_answering.decoding import (
    apply_threshold,
    decode_answers,
)
from albert_keras.tasks.question_answering.heads import ANSWER_HEADS
from albert_keras.tasks.question_answering.metrics import (
    cmrc_metrics,
    random_spans,
    squad_v1_metrics,
    squad_v2_metrics,
)
from albert_keras.tasks.question_answering.reading import (
    TABLES,
    each_context,
    read_questions,
)
from albert_keras.tasks.reading import as_columns
from albert_keras.tasks.recipe import Recipe


class _Scoring(NamedTuple):
    # Function from questions and predicted texts by id to a dict of scores.
    measure: Callable
    main_metric: str
    # Whether a question may have no answer.
    has_null: bool


SCORINGS = {
    "squad-1.1": _Scoring(squad_v1_metrics, "f1", has_null=False),
    # At the best threshold, because the run's is only tuned at its end.
    "squad-2.0": _Scoring(squad_v2_metrics, "best_f1", has_null=True),
    "cmrc-2018": _Scoring(cmrc_metrics, "average", has_null=False),
}


@dataclasses.dataclass(frozen=True)
class QuestionAnsweringTask(FinetuningTask):
    """The span of a text that answers a question, or no answer.

    Args:
        scoring: str, one of `SCORINGS`.
        head: str, one of `ANSWER_HEADS`. Both heads can predict that there is no answer.
        doc_stride, max_question_length: See `make_windows`.
        max_answer_length: int. Maximum number of tokens of an answer.
        null_threshold: float, or None. Null score above which a question is not
            answered; tuned on validation questions at the end of a run.

    Reference: google-research/albert squad_utils.py, whose defaults these are.
    """

    tfds_splits: dict = dataclasses.field(
        default_factory=lambda: {"train": "train", "validation": "validation"}
    )
    scoring: str = "squad-1.1"
    head: str = option(
        "start and end apart, or jointly as for SQuAD 2.0",
        "plain",
        choices=ANSWER_HEADS,
    )
    doc_stride: int = option(
        "tokens from one window of a long text to the next", 128, Range(1, 2**16)
    )
    max_question_length: int = option(
        "maximum number of tokens of a question", 64, Range(1, 2**16)
    )
    max_answer_length: int = option(
        "maximum number of tokens of an answer", 30, Range(1, 2**16)
    )
    null_threshold: float | None = None

    tables: ClassVar[tuple] = TABLES
    facts: ClassVar[tuple] = ("null_threshold",)
    perfect_score: ClassVar[float] = 100.0

    def __post_init__(self):
        super().__post_init__()
        check_choice("scoring", self.scoring, SCORINGS)

    @property
    def main_metric(self):
        return SCORINGS[self.scoring].main_metric

    def read(self, source, *, needs_labels=True):
        """Returns a list of `Question`."""
        questions = read_questions(source, self.decoding)
        has_null = SCORINGS[self.scoring].has_null
        unlabelled = [
            q for q in questions if not (q.answers or (q.is_impossible and has_null))
        ]
        if needs_labels and unlabelled:
            raise ValueError(
                "Training and evaluation need an answer to each question. Received: "
                f"'{source}', {len(unlabelled)} without, first {unlabelled[0].id!r}."
            )
        return questions

    def prepare(self, rows, *, training=False):
        """Returns `PreparedRows` with `AnswerWindows` as details."""
        windows = make_windows(
            rows,
            self.tokenizer.encoder,
            sequence_length=self.recipe.sequence_length,
            doc_stride=self.doc_stride,
            max_question_length=self.max_question_length,
            with_answers=training,
        )
        return PreparedRows(rows, windows.examples, windows)

    def notes(self, prepared):
        windows = prepared.details
        num_lost = sum(windows.lost.values())
        share = 100 * num_lost / len(prepared.rows)
        reasons = "".join(f"; {count} {why}" for why, count in windows.lost.items())
        return [
            f"{num_lost} of {len(prepared.rows)} questions lost ({share:.2f} %)"
            f"{reasons}; {windows.num_mended} found elsewhere than the file says",
            f"{windows.examples.num_examples} windows",
        ]

    def build_model(self, backbone):
        model_class = ANSWER_HEADS[self.head].model_class
        return model_class(backbone, dropout=self.recipe.classifier_dropout)

    def servable(self, model):
        """Adds a preprocessor that packs questions like the task."""
        model.preprocessor = model.preprocessor_cls(
            self.tokenizer,
            sequence_length=self.recipe.sequence_length,
            doc_stride=self.doc_stride,
            max_question_length=self.max_question_length,
        )
        return model

    def features(self, batch):
        return {name: batch[name] for name in ANSWER_HEADS[self.head].inputs}

    def assemble(self, batch):
        head = ANSWER_HEADS[self.head]
        features = {name: batch[name] for name in head.training_inputs}
        return features, {name: batch[key] for name, key in head.targets.items()}

    def losses(self):
        # The model's own, of which it weights each by 0.5.
        return "auto"

    def metrics(self):
        metrics = super().metrics
        return {name: metrics() for name in ("start_logits", "end_logits")}

    def predict(self, model, prepared, batch_size):
        """Returns a list of `Answer`, one a question."""
        predictor = ANSWER_HEADS[self.head].predictor(model)
        outputs = self.outputs(predictor, prepared.examples, batch_size)
        limit = self.max_answer_length
        return decode_answers(
            prepared.rows, prepared.details, outputs, max_answer_length=limit
        )

    def score(self, prepared, predictions):
        """Returns the official scores, in percent.

        With SQuAD 2.0, `exact` and `f1` are at the run's null threshold, and `best_*` at
        the best threshold for these questions.
        """
        scoring = SCORINGS[self.scoring]
        texts = apply_threshold(predictions, None)
        options = {}
        if scoring.has_null:
            null_scores = {answer.id: answer.null_score for answer in predictions}
            options = {"null_scores": null_scores, "threshold": self.null_threshold}
        return {
            **scoring.measure(prepared.rows, texts, **options),
            "num_examples": len(prepared.rows),
            # As for classes: whether all questions get the same answer.
            "num_predicted_labels": len(set(texts.values())),
        }

    def split_keys(self, rows):
        return [question.context for question in rows]

    def report(self, prepared, predictions):
        """Returns the scores of random spans for questions with an answer."""
        answered = [question for question in prepared.rows if question.answers]
        if not answered:
            return {}
        measure = SCORINGS[self.scoring].measure
        return {"random_spans": measure(answered, random_spans(answered))}

    def fitted(self, prepared, predictions):
        """Returns a copy with the best null threshold for validation questions."""
        if not SCORINGS[self.scoring].has_null:
            return self
        threshold = self.score(prepared, predictions)["best_f1_thresh"]
        # If no answer at all is best, the official script gives 0.0.
        least = min(answer.null_score for answer in predictions)
        fitted = [
            dataclasses.replace(self, null_threshold=value)
            for value in (threshold, math.nextafter(least, -math.inf))
        ]
        return max(fitted, key=lambda task: task.score(prepared, predictions)["f1"])

    def rows_of(self, samples):
        """Returns a `Question` for each tuple, or dict, of question and context.

        Of a list of contexts each has one, with the same id.
        """
        columns = as_columns(samples, ("question",), ("context",))
        return [
            Question(str(number), question, context)
            for number, (question, contexts) in enumerate(zip(*columns, strict=True))
            for context in each_context(contexts)
        ]

    def describe(self, prepared, predictions):
        """Returns questions, answers, null scores, and candidates with positions.

        Of a question with several contexts they are those of `context`, its number from
        0.
        """
        questions = {question.id: question.question for question in prepared.rows}
        answers = _best_contexts(predictions)
        texts = apply_threshold(answers, self.null_threshold)
        return [
            {
                "id": answer.id,
                "text": questions[answer.id],
                "answer": texts[answer.id],
                **({"context": group.index(answer)} if len(group) > 1 else {}),
                "null_score": answer.null_score,
                "probabilities": [c.probability for c in answer.candidates],
                "candidates": [candidate._asdict() for candidate in answer.candidates],
            }
            for answer, group in answers.items()
        ]

    def truths(self, rows):
        return [[text for text, _ in question.answers] or [""] for question in rows]

    def has_submission(self, path):
        return path.suffix in (".json", "") or path.is_dir()

    def write_submission(self, path, prepared, predictions):
        """Writes answers by question to a `.json` file, the format of SQuAD's server.

        Another path is a folder, which gets that file as `predictions.json`, null scores,
        for `--na-prob-file` of the official script, as `null_odds.json`, and candidates
        as `nbest_predictions.json`.
        """
        predictions = _best_contexts(predictions)
        texts = apply_threshold(predictions, self.null_threshold)
        path = pathlib.Path(path)
        if path.suffix == ".json":
            write_json(path, texts)
            return
        null_scores = {answer.id: answer.null_score for answer in predictions}
        names = ("text", "probability", "score")
        candidates = {
            answer.id: [{n: getattr(c, n) for n in names} for c in answer.candidates]
            for answer in predictions
        }
        write_json(path / "null_odds.json", null_scores)
        write_json(path / "nbest_predictions.json", candidates)
        # Last: it shows that the others are complete.
        write_json(path / "predictions.json", texts)

    def text_keys(self, rows):
        return [(question.question, question.context) for question in rows]

    def prior_loss(self, prepared):
        constants = ANSWER_HEADS[self.head].constants(prepared.examples.example_arrays)
        return 0.5 * sum(entropy(np.bincount(values)) for values in constants)


def _best_contexts(predictions):
    """Returns the answer to each question, and all its answers, one a context: a dict.

    Best is the one with the lowest null score: scores of spans compare within a context.
    """
    groups = {}
    for answer in predictions:
        groups.setdefault(answer.id, []).append(answer)
    return {
        min(g, key=lambda a: (not a.text, a.null_score)): g for g in groups.values()
    }


# Recipes: Lan et al. 2020, table 14.
SQUAD = QuestionAnsweringTask(
    files={"train": "train-v1.1.json", "validation": "dev-v1.1.json"},
    tfds_name="squad/v1.1",
    recipe=Recipe(5e-5, 48, 3649, 365, sequence_length=384, dropout=0.0),
)

SQUAD2 = QuestionAnsweringTask(
    files={"train": "train-v2.0.json", "validation": "dev-v2.0.json"},
    tfds_name="squad/v2.0",
    scoring="squad-2.0",
    head="joint",
    recipe=Recipe(3e-5, 48, 8144, 814, sequence_length=512, dropout=0.0),
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
