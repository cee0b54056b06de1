"""Models of `from_preset`, where the files are those of another library."""

import pytest

from albert_keras.models import AlbertTextClassifier
from tests.helpers import max_difference


def test_from_preset_of_files_of_another_library(fixtures):
    folder = fixtures / "hf_groups_gelu" / "sequence_classification"
    model = AlbertTextClassifier.from_preset(folder)
    fresh = AlbertTextClassifier.from_preset(folder, load_weights=False)
    assert fresh.backbone.albert_config == model.backbone.albert_config
    assert max_difference(fresh.get_weights(), model.get_weights()) > 0.01
    blocks = AlbertTextClassifier.from_preset(folder, attention="block", block_size=2)
    config = blocks.backbone.albert_config
    assert (config.attention, config.block_size) == ("block", 2)
    assert max_difference(blocks.get_weights(), model.get_weights()) == 0
    with pytest.raises(ValueError, match="`dtype` and `tokenizer`. .*: dropout"):
        AlbertTextClassifier.from_preset(folder, dropout=0.5)
