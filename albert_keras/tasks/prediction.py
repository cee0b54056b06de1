"""Prediction on raw text with a Keras model that has a preprocessor."""

import dataclasses

from albert_keras.checks import check_is_list
from albert_keras.tasks import (
    ANSWER_HEADS,
    MultiLabelTask,
    MultipleChoiceTask,
    QuestionAnsweringTask,
    Recipe,
    TaggingTask,
    TextClassificationTask,
    TextRegressionTask,
)
from albert_keras.tasks.embedding import EmbeddingTask
from albert_keras.tasks.entities import OUTSIDE

BATCH_SIZE = 32

# Tasks by the kinds of `ExportSpec`s.
_TASKS = {
    "classes": TextClassificationTask,
    "several_classes": MultiLabelTask,
    "regression": TextRegressionTask,
    "embedding": EmbeddingTask,
    "tagging": TaggingTask,
    "choices": MultipleChoiceTask,
    "questions": QuestionAnsweringTask,
}


def answer_questions(
    model, questions, contexts, *, max_answer_length=30, null_threshold=None
):
    """Returns the answers to questions about texts of any length.

    Long contexts are read in overlapping windows, as in fine-tuning runs.

    Args:
        model: `AlbertQuestionAnswerer` or `AlbertJointQuestionAnswerer` with a
            preprocessor.
        questions, contexts: lists of str of the same length.
        max_answer_length: int. Maximum number of tokens of an answer. Default 30, as in
            the original.
        null_threshold: float or `None`. Null score above which the answer is `""`.
            Default: there is always an answer.

    Returns:
        List of dicts: `answer`, `null_score`, and `candidates`, dicts of `text`,
        `start` (its first character in the context), `score` and `probability`.

    Example:

    ```python
    answerer = ak.AlbertQuestionAnswerer.from_preset("runs/squad/model")
    ak.tasks.answer_questions(answerer, ["Who wrote it?"], ["It was written by Ann."])
    ```
    """
    check_kind(model, *ANSWER_HEADS.values())
    check_is_list("questions", questions)
    check_is_list("contexts", contexts)
    if len(questions) != len(contexts):
        raise ValueError(
            "Each question must have its context. "
            f"Received: {len(questions)} questions and {len(contexts)} contexts."
        )
    options = {"max_answer_length": max_answer_length, "null_threshold": null_threshold}
    rows = _described(model, list(zip(questions, contexts, strict=True)), **options)
    names = ("answer", "null_score", "candidates")
    return [{name: row[name] for name in names} for row in rows]


def tag_words(model, sentences):
    """Returns the tag of each word, and the entities, of sentences of any length.

    Args:
        model: `AlbertTokenClassifier` with a preprocessor.
        sentences: List of lists of words, or of str. A str is split into words and
            punctuation, and Chinese and Japanese text into characters; pass longer
            Chinese words as lists.

    Returns:
        List of dicts: `text` (a list's words joined by spaces), `words`, their `tags`,
        both as `label`, and if the tags are of entities, such as `B-PER`, `entities`:
        dicts of `text`, `type`, `start` and `end` (characters, so that `text[start:end]`
        is the entity), and `score`, the mean probability of its tags. Tags are the
        model's `labels`, or the numbers of classes, as str, if it has none. Words
        without tokens get `O`, or the first class.

    Example:

    ```python
    tagger = ak.AlbertTokenClassifier.from_preset("runs/conll/model")
    ak.tasks.tag_words(tagger, ["Ann lives in Rome."])[0]["tags"]
    ```
    """
    check_kind(model, "AlbertTokenClassifier")
    return _described(model, sentences)


def _described(model, samples, **options):
    """Returns what the model's task, with other options, describes for samples."""
    task = dataclasses.replace(task_of(model), **options)
    prepared = task.prepare(task.rows_of(samples))
    return task.describe(prepared, task.predict(model, prepared, BATCH_SIZE))


def task_of(model):
    """Returns the task to predict with a model that has a preprocessor."""
    spec = model.export_spec()
    if spec.kind not in _TASKS:
        raise TypeError(
            "The model must have a head that predicts from text. "
            f"Received: {type(model).__name__}."
        )
    preprocessor = preprocessor_of(model)
    options = {
        "tokenizer": preprocessor.tokenizer,
        "recipe": Recipe(sequence_length=preprocessor.sequence_length),
    }
    if spec.num_classes:
        options["labels"] = spec.labels or tuple(map(str, range(spec.num_classes)))
    if spec.kind == "tagging":
        labels = options["labels"]
        options["default"] = OUTSIDE if OUTSIDE in labels else labels[0]
    elif spec.kind in ("choices", "questions"):
        options["max_question_length"] = preprocessor.max_question_length
    if spec.kind == "questions":
        options["doc_stride"] = preprocessor.doc_stride
        options["head"] = "joint" if spec.beam_model else "plain"
    task = _TASKS[spec.kind](**options)
    if spec.kind not in ("classes", "several_classes", "regression"):
        return task
    takes_pairs = getattr(preprocessor, "takes_pairs", False)
    return task.with_columns(
        **{"pair" if takes_pairs else "optional_pair": "text_pair"}
    )


def check_kind(model, *names):
    """Raises a TypeError if a model's class has none of these names."""
    from albert_keras import models

    if not isinstance(model, tuple(getattr(models, name) for name in names)):
        raise TypeError(
            f"The model must be one of {', '.join(names)}. "
            f"Received: {type(model).__name__}."
        )


def preprocessor_of(model):
    """Returns the preprocessor of a model, or raises a ValueError if it has none."""
    if model.preprocessor is None:
        raise ValueError(
            "Text needs a tokenizer. Received: "
            f"{type(model).__name__} without preprocessor. Set `model.preprocessor = "
            f"{model.preprocessor_cls.__name__}(tokenizer)`."
        )
    return model.preprocessor
