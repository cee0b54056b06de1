"""Tasks of exported models, and their file beside the graph."""

import dataclasses
import json

import pytest

from albert_keras.export.associated_files import TASK_FILE, read_task, write_beside
from albert_keras.export.text.kinds import TEXT_KINDS, task_to_export
from albert_keras.models import AlbertPretrainer, AlbertQuestionAnswerer
from albert_keras.models.export_spec import ExportSpec
from albert_keras.tasks import RACE, SQUAD, SQUAD2, TAGGING
from albert_keras.tasks.masked_words import MaskedWordsTask

TASKS = {
    "masked_words": MaskedWordsTask(None, top_k=3),
    "choices": RACE,
    "tagging": dataclasses.replace(TAGGING, labels=("A", "O"), default="O"),
    "questions": dataclasses.replace(SQUAD2, null_threshold=-1.5),
}


@pytest.mark.parametrize("name", TEXT_KINDS)
def test_a_task_is_read_as_it_was_written(name, tmp_path):
    task, spec = TASKS[name], ExportSpec(None, None, kind=name)
    write_beside(tmp_path, spec, task, takes_text=True)
    kind, read = read_task(tmp_path)
    assert kind is TEXT_KINDS[name]
    for field in kind.stored:
        assert getattr(read, field) == getattr(task, field)


def test_other_content_is_one_error(tmp_path):
    assert read_task(tmp_path) == (None, None)
    tagging = {"kind": "tagging", "labels": ["O"], "default": "O"}
    for content, received in (
        ({"kind": "poems"}, "Received: kind='poems'"),
        ({"kind": "masked_words", "top_k": "5"}, "Received: '5'"),
        ({**tagging, "ids": {"sequence_length": "19"}}, "`sequence_length`.*: '19'"),
        ({**tagging, "ids": []}, "`content` must be .* Received: "),
    ):
        (tmp_path / TASK_FILE).write_text(json.dumps(content))
        with pytest.raises(ValueError, match=received):
            read_task(tmp_path)


def test_a_tokenizer_and_a_length_replace_those_of_the_task(backbone, tokenizer):
    spec = AlbertQuestionAnswerer(backbone).export_spec()
    task = task_to_export(spec, SQUAD, tokenizer, 7)
    assert (task.tokenizer, task.recipe.sequence_length) == (tokenizer, 7)
    with pytest.raises(ValueError, match="positions. Received: sequence_length=384"):
        task_to_export(spec, SQUAD, tokenizer)
    spec = AlbertPretrainer(backbone).export_spec()
    assert task_to_export(spec, None, tokenizer).longest == 19
    assert task_to_export(spec, None, tokenizer, 9).longest == 9
