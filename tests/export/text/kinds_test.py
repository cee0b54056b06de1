"""Kinds of models of text: recognition, and the file beside the graph."""

import dataclasses
import json

import pytest

from albert_keras.export.text.kinds import (
    TASK_FILE,
    TEXT_KINDS,
    kind_of,
    read_task,
    task_to_serve,
    write_task,
)
from albert_keras.models import AlbertPretrainer, AlbertQuestionAnswerer
from albert_keras.tasks import RACE, SQUAD, SQUAD2, TAGGING, TextClassificationTask
from albert_keras.tasks.masked_words import MaskedWordsTask
from tests.converters.saving_test import make_model

TASKS = {
    "masked_words": MaskedWordsTask(None, top_k=3),
    "choices": RACE,
    "tagging": dataclasses.replace(TAGGING, labels=("A", "O"), default="O"),
    "questions": dataclasses.replace(SQUAD2, null_threshold=-1.5),
}


@pytest.mark.parametrize("name", TEXT_KINDS)
def test_a_task_is_read_as_it_was_written(name, tmp_path):
    task = TASKS[name]
    assert kind_of(task) == name
    write_task(tmp_path, task)
    kind, read = read_task(tmp_path)
    assert kind is TEXT_KINDS[name]
    for field in kind.stored:
        assert getattr(read, field) == getattr(task, field)


def test_other_content_is_one_error(tmp_path):
    assert read_task(tmp_path) == (None, None)
    for content, received in {
        '{"kind": "poems"}': "Received: kind='poems'",
        '{"kind": "masked_words", "top_k": "5"}': "Received: '5'",
    }.items():
        (tmp_path / TASK_FILE).write_text(json.dumps(json.loads(content)))
        with pytest.raises(ValueError, match=received):
            read_task(tmp_path)


def test_classifiers_and_models_without_tokenizer_have_no_kind(backbone, tokenizer):
    assert kind_of(TextClassificationTask()) is None
    assert task_to_serve(make_model("sequence_classification"), tokenizer) is None
    assert task_to_serve(AlbertPretrainer(backbone)) is None
    with pytest.raises(ValueError, match="Received: sequence_length=9. Remove it"):
        task_to_serve(AlbertPretrainer(backbone), tokenizer, 9)


def test_a_tokenizer_and_a_length_replace_those_of_the_task(backbone, tokenizer):
    model = AlbertQuestionAnswerer(backbone)
    task = task_to_serve(model, tokenizer, 7, SQUAD)
    assert (task.tokenizer, task.recipe.sequence_length) == (tokenizer, 7)
    with pytest.raises(ValueError, match="positions. Received: sequence_length=384"):
        task_to_serve(model, tokenizer, None, SQUAD)
