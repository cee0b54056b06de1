"""Extractive question answering: SQuAD 1.1 and 2.0, CMRC 2018, and similar files."""

import dataclasses
import math
import pathlib
import weakref
from typing import ClassVar

import numpy as np

from albert_keras.checks import check_choice
from albert_keras.options import Range, option
from albert_keras.preprocessors.answer_spans import Question
from albert_keras.preprocessors.answer_windows import make_windows
from albert_keras.system.files import write_json
from albert_keras.tasks.finetuning import FinetuningTask, PreparedRows, Recipe, files_of
from albert_keras.tasks.metrics import entropy
from albert_keras.tasks.question_answering import decoding, metrics, reading
from albert_keras.tasks.reading import as_columns

# The models of each head. `plain` predicts start and end of the answer independently, and
# no answer by the score of [CLS], as for SQuAD 1.1. `joint` predicts the end given the
# start, and whether there is an answer, as for SQuAD 2.0.
ANSWER_HEADS = {
    "plain": "AlbertQuestionAnswerer",
    "joint": "AlbertJointQuestionAnswerer",
}

# The beam search of each joint model, which is built and compiled once.
_BEAMS = weakref.WeakKeyDictionary()


# Functions of questions and of predicted texts by id, which return a dict of scores, and
# the main score.
SCORINGS = {
    "squad-1.1": (metrics.squad_v1_metrics, "f1"),
    # At the best threshold, because a run tunes its own only at its end.
    "squad-2.0": (metrics.squad_v2_metrics, "best_f1"),
    "cmrc-2018": (metrics.cmrc_metrics, "average"),
}


@dataclasses.dataclass(frozen=True)
class QuestionAnsweringTask(FinetuningTask):
    """The span of a text that answers a question, or no answer.

    Args:
        scoring: str, one of `SCORINGS`.
        head: str, one of `ANSWER_HEADS`. Both heads can predict that there is no answer.
        doc_stride, max_question_length: See `make_windows`.
        max_answer_length: int. Maximum number of tokens of an answer.
        null_threshold: float, or None. Null score above which a question has no answer;
            a run tunes it on held-out questions at its end.

    Defaults are those of google-research/albert squad_utils.py.
    """

    tfds_splits: dict = dataclasses.field(
        default_factory=lambda: {"train": "train", "validation": "validation"}
    )
    scoring: str = "squad-1.1"
    head: str = option(
        "plain predicts start and end independently, joint the end given the start, as "
        "for SQuAD 2.0",
        "plain",
        choices=ANSWER_HEADS,
    )
    doc_stride: int = option(
        "tokens from the start of a window of a long text to the next",
        128,
        Range(1, 2**16),
    )
    max_question_length: int = option(
        "maximum number of tokens of a question", 64, Range(1, 2**16)
    )
    max_answer_length: int = option(
        "maximum number of tokens of an answer", 30, Range(1, 2**16)
    )
    null_threshold: float | None = None

    tables: ClassVar[tuple] = reading.TABLES
    packing: ClassVar[tuple] = ("doc_stride", "max_question_length")
    facts: ClassVar[tuple] = ("null_threshold",)
    perfect_score: ClassVar[float] = 100.0

    def __post_init__(self):
        super().__post_init__()
        check_choice("scoring", self.scoring, SCORINGS)

    @property
    def model_class(self):
        """The class of the head's models."""
        from albert_keras import models

        return getattr(models, ANSWER_HEADS[self.head])

    @property
    def main_metric(self):
        return SCORINGS[self.scoring][1]

    @property
    def has_null(self):
        """Whether a question may have no answer."""
        return self.scoring == "squad-2.0"

    def read(self, source, *, needs_labels=True):
        """Returns a list of `Question`."""
        questions = reading.read_questions(source, self.decoding)
        unlabelled = [question for question in questions if not question.answers]
        if self.has_null:
            unlabelled = [q for q in unlabelled if not q.is_impossible]
        if needs_labels and unlabelled:
            raise ValueError(
                "Training and evaluation need an answer to each question. Received: "
                f"'{source}', {len(unlabelled)} without, first {unlabelled[0].id!r}."
            )
        return questions

    def prepare(self, rows, *, training=False):
        """Returns `PreparedRows` with `AnswerWindows` as details."""
        options = {**self.packing_options(), "with_answers": training}
        windows = make_windows(rows, self.tokenizer.encoder, **options)
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
        return self.model_class(backbone, dropout=self.recipe.classifier_dropout)

    def predictor(self, model):
        """Returns the model that predicts: the beam search of a joint head's model."""
        if not hasattr(model, "beam_model"):
            return model
        if model not in _BEAMS:
            _BEAMS[model] = model.beam_model()
        return _BEAMS[model]

    def features(self, batch):
        # Prediction finds the start, which training gives to the joint head.
        names = self.model_class.preprocessor_cls.features
        return {name: batch[name] for name in names if name != "start_positions"}

    def assemble(self, batch):
        kind = self.model_class.preprocessor_cls
        features = {name: batch[name] for name in kind.features}
        return features, {name: batch[key] for name, key in kind.targets.items()}

    def metrics(self):
        metrics = super().metrics
        return {name: metrics() for name in ("start_logits", "end_logits")}

    def predict(self, model, prepared, batch_size):
        """Returns a list with an `Answer` for each question and context."""
        outputs = self.outputs(self.predictor(model), prepared.examples, batch_size)
        found = (prepared.rows, prepared.details, outputs)
        limit = self.max_answer_length
        return decoding.decode_answers(*found, max_answer_length=limit)

    def score(self, prepared, predictions):
        """Returns the official scores, in percent.

        With SQuAD 2.0, `exact` and `f1` are at the run's null threshold, and `best_*` at
        the best threshold for these questions.
        """
        texts = decoding.apply_threshold(predictions, None)
        options = {}
        if self.has_null:
            null_scores = {answer.id: answer.null_score for answer in predictions}
            options = {"null_scores": null_scores, "threshold": self.null_threshold}
        return {
            **SCORINGS[self.scoring][0](prepared.rows, texts, **options),
            "num_examples": len(prepared.rows),
            # Whether all questions get the same answer, as for classes.
            "num_predicted_labels": len(set(texts.values())),
        }

    def split_keys(self, rows):
        return [question.context for question in rows]

    def report(self, prepared, predictions):
        """Returns the scores of random spans for questions with an answer."""
        answered = [question for question in prepared.rows if question.answers]
        if not answered:
            return {}
        measure, _ = SCORINGS[self.scoring]
        return {"random_spans": measure(answered, metrics.random_spans(answered))}

    def fitted(self, prepared, predictions):
        """Returns a copy with the best null threshold for held-out questions."""
        if not self.has_null:
            return self
        threshold = self.score(prepared, predictions)["best_f1_thresh"]
        # The official script gives 0.0 if no answer at all is best.
        least = min(answer.null_score for answer in predictions)
        fitted = [
            dataclasses.replace(self, null_threshold=value)
            for value in (threshold, math.nextafter(least, -math.inf))
        ]
        return max(fitted, key=lambda task: task.score(prepared, predictions)["f1"])

    def rows_of(self, samples):
        """Returns a `Question` for each tuple or dict of question and context.

        A list of contexts gives a `Question` for each context, all with the same id.
        """
        columns = as_columns(samples, ("question",), ("context",))
        return [
            Question(str(number), question, context)
            for number, (question, contexts) in enumerate(zip(*columns, strict=True))
            for context in reading.each_context(contexts, f"sample {number}")
        ]

    def describe(self, prepared, predictions):
        """Returns questions, answers, null scores, and candidates with positions.

        For a question with several contexts, `context` is the number of the context with
        the answer, from 0.
        """
        questions = {question.id: question.question for question in prepared.rows}
        answers = _best_contexts(predictions)
        texts = decoding.apply_threshold(answers, self.null_threshold)
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
        """Writes answers by question to a `.json` file, in the format of SQuAD's server.

        Another path is a folder: it gets the answers as `predictions.json`, null scores
        as `null_odds.json`, for `--na-prob-file` of the official script, and candidates
        as `nbest_predictions.json`.
        """
        predictions = _best_contexts(predictions)
        texts = decoding.apply_threshold(predictions, self.null_threshold)
        path = pathlib.Path(path)
        if path.suffix == ".json":
            write_json(path, texts)
            return
        null_scores = {answer.id: answer.null_score for answer in predictions}
        candidates = {a.id: [c._asdict() for c in a.candidates] for a in predictions}
        write_json(path / "null_odds.json", null_scores)
        write_json(path / "nbest_predictions.json", candidates)
        # Last, because it shows that the other files are complete.
        write_json(path / "predictions.json", texts)

    def text_keys(self, rows):
        return [(question.question, question.context) for question in rows]

    def prior_loss(self, prepared):
        arrays = prepared.examples.example_arrays
        starts, ends = arrays["start_positions"], arrays["end_positions"]
        constants = [starts, ends]
        if self.head == "joint":
            # It predicts ends given starts.
            constants = [starts, ends - starts, arrays["is_impossible"]]
        return 0.5 * sum(entropy(np.bincount(values)) for values in constants)


def _best_contexts(predictions):
    """Returns a dict from the best answer to each question to its answers by context.

    The best one has the lowest null score, because scores of spans compare only within a
    context.
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
    files=files_of(*(f"cmrc2018_{name}.json" for name in ("train", "dev", "trial"))),
    scoring="cmrc-2018",
    max_answer_length=50,
    # Cui et al. 2019, arXiv 1810.07366, section 5.1, trained two epochs at 3e-5.
    recipe=Recipe(learning_rate=3e-5, num_epochs=2, sequence_length=512),
)
