"""Answers and tags of raw text, by a Keras model with a preprocessor."""

from albert_keras.preprocessors.answer_spans import Question
from albert_keras.tasks.question_answering import ANSWER_HEADS, QuestionAnsweringTask
from albert_keras.tasks.recipe import Recipe
from albert_keras.tasks.tagging import TaggingTask
from albert_keras.tasks.tagging.reading import OUTSIDE, TaggedSentences

BATCH_SIZE = 32


def answer_questions(
    model, questions, contexts, *, max_answer_length=30, null_threshold=None
):
    """Returns the answers to questions about texts, of any length.

    Long contexts are read in overlapping windows, as fine-tuning runs do.

    Args:
        model: `AlbertQuestionAnswerer` or `AlbertJointQuestionAnswerer` with a
            preprocessor.
        questions, contexts: lists of str of the same length.
        max_answer_length: int. Maximum number of tokens of an answer. Default 30, as the
            original.
        null_threshold: float or `None`. Null score above which there is no answer, `""`.
            Default: always answer.

    Returns:
        List of dicts: `answer`, `null_score`, and `candidates`, dicts of `text`,
        `start` (its first character in the context), `score` and `probability`.

    Example:

    ```python
    answerer = ak.AlbertQuestionAnswerer.from_preset("runs/squad/model")
    ak.answer_questions(answerer, ["Who wrote it?"], ["It was written by Ann."])
    ```
    """
    preprocessor = preprocessor_of(model)
    (head,) = (
        name
        for name, head in ANSWER_HEADS.items()
        if isinstance(model, head.model_class)
    )
    task = QuestionAnsweringTask(
        tokenizer=preprocessor.tokenizer,
        recipe=Recipe(sequence_length=preprocessor.sequence_length),
        head=head,
        doc_stride=preprocessor.doc_stride,
        max_question_length=preprocessor.max_question_length,
        max_answer_length=max_answer_length,
        null_threshold=null_threshold,
    )
    rows = [
        Question(str(number), *texts)
        for number, texts in enumerate(zip(questions, contexts, strict=True))
    ]
    prepared = task.prepare(rows)
    predictions = task.predict(model, prepared, BATCH_SIZE)
    names = ("answer", "null_score", "candidates")
    return [
        {name: row[name] for name in names}
        for row in task.describe(prepared, predictions)
    ]


def tag_words(model, sentences):
    """Returns the tag of each word of sentences, of any length.

    Args:
        model: `AlbertTokenClassifier` with a preprocessor.
        sentences: List of lists of words, or of str whose words are separated by white
            space.

    Returns:
        List of lists of the model's `labels`, or of classes as int if it has none. Words
        without tokens get `O`, or the first class.

    Example:

    ```python
    tagger = ak.AlbertTokenClassifier.from_preset("runs/conll/model")
    ak.tag_words(tagger, ["Ann lives in Rome"])
    ```
    """
    preprocessor = preprocessor_of(model)
    labels = model.labels or range(model.num_classes)
    task = TaggingTask(
        tokenizer=preprocessor.tokenizer,
        recipe=Recipe(sequence_length=preprocessor.sequence_length),
        labels=tuple(labels),
        default=OUTSIDE if OUTSIDE in labels else labels[0],
    )
    words = [s.split() if isinstance(s, str) else list(s) for s in sentences]
    prepared = task.prepare(TaggedSentences(words, None))
    return task.predict(model, prepared, BATCH_SIZE)


def preprocessor_of(model):
    """Returns the preprocessor of a model, which must have one."""
    if model.preprocessor is None:
        raise ValueError(
            "Text needs a tokenizer. Received: "
            f"{type(model).__name__} without preprocessor. Set `model.preprocessor = "
            f"{model.preprocessor_cls.__name__}(tokenizer)`."
        )
    return model.preprocessor
