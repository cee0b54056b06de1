"""Masked language model with one output: as keras-hub's, with a pretrainer's head."""

import keras_hub
import pytest

import albert_keras as ak
from albert_keras.models import AlbertMaskedLM, AlbertPretrainer
from tests.helpers import max_difference, randomize
from tests.models.small_models import WORDS as INPUTS
from tests.models.small_models import make_model
from tests.tasks.task_checks import make_backbone, make_tokenizer


@pytest.mark.parametrize("format", ["keras", "huggingface"])
def test_head_of_a_pretrainer(format, tmp_path):
    pretrainer = randomize(make_model(AlbertPretrainer, num_pair_classes=3))
    ak.save_checkpoint(pretrainer, tmp_path, format)
    masked_lm = AlbertMaskedLM.from_preset(tmp_path)
    expected = pretrainer(INPUTS)["mlm_logits"]
    assert max_difference(masked_lm(INPUTS), expected) < 1e-6


def test_saved_in_every_format(tmp_path):
    model = randomize(make_model(AlbertMaskedLM))
    for format in ("keras", "huggingface"):
        ak.save_checkpoint(model, tmp_path / format, format)
    saved = ak.load_checkpoint(tmp_path / "keras")
    assert type(saved) is AlbertMaskedLM
    with pytest.warns(UserWarning, match="no sentence-pair head"):
        converted = ak.load_checkpoint(tmp_path / "huggingface")
    assert max_difference(saved(INPUTS), model(INPUTS)) == 0
    assert max_difference(converted(INPUTS)["mlm_logits"], model(INPUTS)) < 1e-6


@pytest.mark.slow
def test_is_found_by_keras_hub(tmp_path):
    tokenizer = make_tokenizer()
    AlbertPretrainer(make_backbone()).save_to_preset(str(tmp_path))
    tokenizer.save_to_preset(str(tmp_path))
    masked_lm = AlbertMaskedLM.from_preset(tmp_path)
    masked_lm.preprocessor.mask_selection_length = 3
    masked_lm.save_to_preset(str(tmp_path))
    restored = keras_hub.models.MaskedLM.from_preset(str(tmp_path))
    assert type(restored) is AlbertMaskedLM
    assert max_difference(restored.get_weights(), masked_lm.get_weights()) == 0
    assert restored.preprocessor.mask_selection_length == 3
