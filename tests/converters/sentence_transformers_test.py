"""Folders of sentence-transformers: vectors, formats, and what is refused."""

import json
import pathlib
import shutil

import keras
import numpy as np
import pytest
import safetensors.numpy

import albert_keras as ak
from tests.conftest import SHARED
from tests.helpers import max_difference

FIXTURES = SHARED / "fixtures" / "sentence_transformers"
TEXTS = ["A Charming film", "", "  ", "word " * 90, "In 2012, they left.", "naïve café"]
POOLING = pathlib.Path("1_Pooling", "config.json")
DENSE = pathlib.Path("2_Dense", "config.json")


@pytest.fixture(scope="module")
def embedder():
    keras.utils.set_random_seed(7)
    tokenizer = ak.load_tokenizer("albert_nano_en")
    sizes = {"vocabulary_size": tokenizer.vocabulary_size(), "max_sequence_length": 47}
    sizes["num_layers"] = 1
    backbone = ak.AlbertBackbone.from_config_preset("albert_test", **sizes)
    preprocessor = ak.AlbertTextEmbedderPreprocessor(tokenizer, sequence_length=39)
    options = {"dense_dim": 11, "prompts": {"query": "query: "}}
    return ak.AlbertTextEmbedder(backbone, preprocessor, "cls", **options)


@pytest.fixture(scope="module")
def written(embedder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("written") / "model"
    ak.save_checkpoint(embedder, folder, "sentence-transformers")
    return folder


@pytest.fixture
def folder(written, tmp_path):
    shutil.copytree(written, tmp_path / "model")
    return tmp_path / "model"


def change(file, **values):
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


def test_a_folder_gives_the_model_back(embedder, written):
    model = ak.load_checkpoint(written)
    names = ("pooling_mode", "normalize", "dense_dim", "prompts")
    assert [getattr(model, n) for n in names] == [getattr(embedder, n) for n in names]
    assert model.preprocessor.sequence_length == 39
    expected = embedder.encode_text(TEXTS)
    assert max_difference(model.encode_text(TEXTS), expected) < 1e-6
    run = ak.load_run(written)
    assert max_difference(run.encode(TEXTS[:2]), expected[:2]) < 1e-6
    assert [*run.predict(TEXTS[:1])[0]] == ["text", "embedding"]
    # Replaced, since it is of the same format.
    ak.save_checkpoint(model.with_dimensions(11).backbone, written.parent / "preset")
    ak.save_checkpoint(embedder, written, "sentence-transformers")


@pytest.mark.parametrize("name", ["mean_dense_normalize", "cls_old_format"])
def test_vectors_equal_those_of_published_formats(name):
    if not FIXTURES.is_dir():
        pytest.skip("needs the fixtures in ../shared")
    reference = np.load(FIXTURES / name / "reference.npz")
    texts = json.loads((FIXTURES / "texts.json").read_text("utf-8"))
    model = ak.AlbertTextEmbedder.from_preset(FIXTURES / name)
    assert model.preprocessor.sequence_length == reference["max_sequence_length"]
    difference = max_difference(model.encode_text(texts), reference["embeddings"])
    assert difference < 1e-5


@pytest.mark.slow
def test_sentence_transformers_gives_the_same_vectors(embedder, written, tmp_path):
    theirs = pytest.importorskip("sentence_transformers").SentenceTransformer(
        str(written), device="cpu"
    )
    expected = theirs.encode(TEXTS)
    assert max_difference(embedder.encode_text(TEXTS), expected) < 1e-5
    queries = theirs.encode(TEXTS, prompt_name="query")
    assert max_difference(embedder.encode_text(TEXTS, "query"), queries) < 1e-5
    # In its newest format.
    theirs.save(str(tmp_path / "new"))
    model = ak.AlbertTextEmbedder.from_preset(tmp_path / "new")
    assert max_difference(model.encode_text(TEXTS), expected) < 1e-5


def test_a_dense_module_may_have_no_bias(embedder, folder):
    file = folder / "2_Dense" / "model.safetensors"
    tensors = safetensors.numpy.load_file(file)
    tensors.pop("linear.bias")
    safetensors.numpy.save_file(tensors, file)
    model = ak.load_checkpoint(folder)
    # Initial biases are 0.
    assert max_difference(model.encode_text(TEXTS), embedder.encode_text(TEXTS)) < 1e-6
    file.unlink()
    with pytest.raises(ValueError, match="`out_features` must be .*out_features=11"):
        ak.load_checkpoint(folder)


def test_a_stated_lower_case_is_the_tokenizers(folder):
    (folder / "tokenizer.json").unlink()
    change(folder / "tokenizer_config.json", do_lower_case=False)
    assert not ak.load_tokenizer(folder).get_config()["lowercase"]
    change(folder / "sentence_bert_config.json", do_lower_case=True)
    assert ak.load_tokenizer(folder).get_config()["lowercase"]


@pytest.mark.parametrize(
    ("file", "values", "message"),
    [
        (POOLING, {"pooling_mode": "weightedmean"}, "mean, cls, max.*'weightedmean'"),
        (POOLING, {"pooling_mode_max_tokens": True}, "'cls.max'"),
        (POOLING, {"pooling_mode_lasttoken": True}, "pooling_mode_lasttoken"),
        (POOLING, {"include_prompt": False}, "'cls without prompts'"),
        (DENSE, {"use_residual": True}, "use_residual=True"),
        (DENSE, {"activation_function": "torch.nn.Mish"}, "Tanh, .*'Mish'"),
        (DENSE, {"out_features": 10**12}, "must be one of 11.*out_features=1000000"),
    ],
)
def test_what_changes_the_vectors_is_refused(file, values, message, folder):
    change(folder / file, **values)
    with pytest.raises(ValueError, match=message):
        ak.load_checkpoint(folder)


@pytest.mark.parametrize(
    ("number", "key", "value"),
    [
        (2, "type", "other.LayerNorm"),
        (1, "path", "../1_Pooling"),
        (3, "type", "a.Dense"),
    ],
)
def test_other_modules_are_refused(number, key, value, folder):
    file = folder / "modules.json"
    modules = json.loads(file.read_text())
    modules[number][key] = value
    file.write_text(json.dumps(modules))
    with pytest.raises(ValueError, match="must have the modules Transformer, Pooling"):
        ak.load_checkpoint(folder)
    encoder = ak.load_checkpoint(folder, source="huggingface")
    assert type(encoder) is ak.AlbertBackbone


def test_what_the_format_cannot_hold_is_refused(embedder, tmp_path):
    others = [embedder.with_dimensions(5), embedder.backbone]
    for model in others:
        with pytest.raises(ValueError, match="an embedder of all dimensions"):
            ak.save_checkpoint(model, tmp_path / "model", "sentence-transformers")
    with pytest.raises(ValueError, match="must know the model's head.*text_embedding"):
        ak.save_checkpoint(embedder, tmp_path / "model", "huggingface")
