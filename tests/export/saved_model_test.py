import itertools
import pathlib

import keras_hub
import numpy as np
import pytest
import tensorflow as tf

from albert_keras.export import export_saved_model, load_saved_model
from albert_keras.models import AlbertBackbone
from albert_keras.tokenizers import AlbertTokenizer

LABELS = ["bad", "so-so", "göod"]

# A program of somebody else: TensorFlow alone, tensorflow-text absent.
SERVE_IDS = """
import sys
sys.modules["tensorflow_text"] = sys.modules["keras_hub"] = None
import numpy as np
import tensorflow as tf
for folder in sys.argv[1:]:
    serve = tf.saved_model.load(folder).signatures["serving_default"]
    for batch in (5, 2):
        features = dict(np.load(f"{folder}/features_{batch}.npz"))
        outputs = serve(**{name: tf.constant(ids) for name, ids in features.items()})
        np.savez(
            f"{folder}/outputs_{batch}.npz",
            **{name: value.numpy() for name, value in outputs.items()},
        )
"""

SERVE_TEXT = """
import json, sys
import numpy as np
from albert_keras.export import load_saved_model
outputs = load_saved_model(sys.argv[1]).predict(json.loads(sys.argv[3]), batch_size=4)
np.savez(sys.argv[2], **outputs)
"""

SERVE_PAIRS = """
import json, sys
import numpy as np
import tensorflow as tf
import tensorflow_text
serve = tf.saved_model.load(sys.argv[1]).signatures["serve_pairs"]
first, second = json.loads(sys.argv[3])
outputs = serve(text=tf.constant(first), text_pair=tf.constant(second))
np.savez(sys.argv[2], **{name: value.numpy() for name, value in outputs.items()})
"""


def size_on_disk(folder):
    return sum(
        path.stat().st_size
        for path in pathlib.Path(folder).rglob("*")
        if path.is_file()
    )


def max_difference(actual, expected):
    return np.abs(actual - np.asarray(expected)).max()


def test_ids_serve_without_tensorflow_text_at_any_batch_and_length(
    backbone, pretrainer, classifier, random_features, run_fresh, tmp_path
):
    models = {
        tmp_path / "backbone": backbone,
        tmp_path / "pretrainer": pretrainer,
        tmp_path / "classifier": classifier,
    }
    lengths = {5: 11, 2: 17}
    for folder, model in models.items():
        export_saved_model(model, folder)
        for batch, length in lengths.items():
            features = random_features(model, batch, length)
            np.savez(folder / f"features_{batch}.npz", **features)

    run_fresh(SERVE_IDS, *models)

    for (folder, model), batch in itertools.product(models.items(), lengths):
        expected = model(random_features(model, batch, lengths[batch]))
        if not isinstance(expected, dict):
            expected = {"logits": expected}
        actual = np.load(folder / f"outputs_{batch}.npz")
        assert set(expected) == set(actual) - {"probabilities"}
        for name, value in expected.items():
            assert max_difference(actual[name], value) <= 1e-5, (folder, name)
