"""Names, versions and errors of a model to serve; `server_test.py` asks one."""

import pytest

from albert_keras.export import export_saved_model
from albert_keras.models import AlbertTextClassifier
from albert_keras.serving import ServedModel
from tests.tasks.task_checks import make_backbone


def test_a_folder_without_a_version_is_refused(tmp_path):
    (tmp_path / "reviews" / "3").mkdir(parents=True)
    with pytest.raises(
        ValueError, match="or a folder of versions .*Received: '.*views'"
    ):
        ServedModel(tmp_path / "reviews")


def test_a_model_of_ids_under_its_own_name(tmp_path):
    export_saved_model(AlbertTextClassifier(make_backbone(), 3), tmp_path / "ids")
    model = ServedModel(tmp_path / "ids")
    assert (model.name, model.version) == ("ids", "1")
    assert set(model.inputs("serving_default")) == {
        *("token_ids", "segment_ids", "padding_mask")
    }
    with pytest.raises(ValueError, match="must be one of serving_default. Received: "):
        model.inputs("mine")
    ids = {name: [[1, 1, 0]] for name in model.inputs("serving_default")}
    assert model.predict(ids)["logits"].shape == (1, 3)
    # 437 pieces.
    with pytest.raises(
        ValueError, match=r"^indices\[0,1\] = 437 is not in \[0, 437\)$"
    ):
        model.predict(ids | {"token_ids": [[2, 437, 3]]})
