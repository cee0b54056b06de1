"""Loading of checkpoints: recognition, parity of outputs, new heads and errors."""

import functools
import json
import shutil

import keras
import numpy as np
import pytest

from albert_keras.converters import load_checkpoint
from albert_keras.converters.architecture import resize_vocabulary
from albert_keras.converters.heads import head_of
from albert_keras.converters.huggingface import HuggingFaceFolder
from albert_keras.models import HEADS, AlbertBackbone, AlbertTextClassifier
from tests.helpers import make_config, make_inputs, max_difference, randomize

TOLERANCE = 1e-5
GOOGLE = ["google_tf1_shared", "google_tf1_groups"]
HUGGINGFACE = ["hf_shared", "hf_groups_gelu"]
FINETUNED = [head for head in HEADS if head != "pretraining"]
# Those that transformers has too.
SHARED_HEADS = [head for head in FINETUNED if head in HuggingFaceFolder.known_heads()]
OPTIONS = {"sequence_classification": 11, "early_exit": 5, "token_classification": 7}


def load_arrays(folder):
    with np.load(folder / "forward.npz") as file:
        return dict(file)


def intermediate_outputs(backbone, inputs):
    inputs = {
        name: inputs[name] for name in ("token_ids", "segment_ids", "padding_mask")
    }
    return backbone.with_outputs(hidden_states=True, attention_scores=True)(inputs)


@pytest.mark.parametrize("name", GOOGLE)
def test_google_pretraining_gives_the_original_outputs(fixtures, name):
    folder = fixtures / name
    arrays = load_arrays(folder)
    inputs = {
        "token_ids": arrays["input_ids"],
        "segment_ids": arrays["segment_ids"],
        "padding_mask": arrays["input_mask"],
        "mask_positions": arrays["masked_lm_positions"],
    }
    model = load_checkpoint(folder)
    logits = model(inputs)
    masked = np.array(keras.ops.log_softmax(logits["mlm_logits"])).reshape(12, 61)
    pairs = np.array(keras.ops.log_softmax(logits["sop_logits"]))
    losses = -masked[np.arange(12), arrays["masked_lm_ids"].ravel()]
    weights = arrays["masked_lm_weights"].ravel()
    encoded = intermediate_outputs(model.backbone, inputs)
    received = {
        "out_sequence_output": encoded["sequence_output"],
        "out_pooled_output": encoded["pooled_output"],
        "out_masked_lm_log_probs": masked,
        "out_masked_lm_example_loss": losses,
        # The original's own guard against an empty batch.
        "out_masked_lm_loss": (losses * weights).sum() / (weights.sum() + 1e-5),
        "out_sentence_order_log_probs": pairs,
        "out_sentence_order_loss": -pairs[
            np.arange(4), arrays["next_sentence_labels"][:, 0]
        ].mean(),
    }
    check_outputs(received, arrays)


def check_outputs(received, arrays):
    assert set(received) == {name for name in arrays if name.startswith("out_")}
    for name, value in received.items():
        assert max_difference(value, arrays[name]) < TOLERANCE, name


def huggingface_inputs(arrays):
    return {
        "token_ids": arrays["input_ids"],
        "segment_ids": arrays["token_type_ids"],
        "padding_mask": arrays["attention_mask"],
    }


@pytest.mark.parametrize("name", HUGGINGFACE)
def test_huggingface_pretraining_gives_the_original_outputs(fixtures, name):
    folder = fixtures / name / "pretraining"
    arrays = load_arrays(folder)
    inputs = huggingface_inputs(arrays)
    model = load_checkpoint(folder)
    everywhere = np.tile(np.arange(16), (4, 1))
    logits = model({**inputs, "mask_positions": everywhere})
    encoded = intermediate_outputs(model.backbone, inputs)
    received = {
        "out_prediction_logits": logits["mlm_logits"],
        "out_sop_logits": logits["sop_logits"],
        "out_hidden_states": np.stack(encoded["hidden_states"]),
        "out_attentions": np.stack(encoded["attention_scores"]),
        "out_sequence_output": encoded["sequence_output"],
        "out_pooled_output": encoded["pooled_output"],
    }
    check_outputs(received, arrays)


@pytest.mark.parametrize("name", HUGGINGFACE)
@pytest.mark.parametrize("head", SHARED_HEADS)
def test_huggingface_heads_give_the_original_outputs(fixtures, name, head):
    folder = fixtures / name / head
    arrays = load_arrays(folder)
    outputs = load_checkpoint(folder, head=head)(huggingface_inputs(arrays))
    if not isinstance(outputs, dict):
        outputs = {"logits": outputs}
    check_outputs({f"out_{key}": value for key, value in outputs.items()}, arrays)


@functools.cache
def make_model(head, **fields):
    """Returns a model with random weights, which tests do not change."""
    backbone = AlbertBackbone(**make_config(**fields).to_dict())
    if head is None:
        return randomize(backbone)
    options = {"num_classes": OPTIONS[head]} if head in OPTIONS else {}
    return randomize(HEADS[head].model(backbone, **options))


def check_new_head(path, head, num_classes, weights):
    """Checks a model whose backbone alone was in the files."""
    with pytest.warns(UserWarning, match=f"has no {head} head.*a new one.*random"):
        model = load_checkpoint(path, head=head, num_classes=num_classes)
    assert type(model) is HEADS[head].model
    assert max_difference(model.backbone.get_weights(), weights) == 0.0
    if head in OPTIONS:
        assert model.num_classes == (num_classes or 2)


@pytest.mark.parametrize("head", [h for h in FINETUNED if HEADS[h].has_weights])
def test_checkpoint_without_the_head_gets_a_new_one(fixtures, head):
    folder = fixtures / "google_tf1_groups"
    weights = load_checkpoint(folder, head=None).get_weights()
    check_new_head(folder, head, None, weights)


def test_a_head_without_weights_is_in_all_files(fixtures, tmp_path):
    model = load_checkpoint(fixtures / "google_tf1_groups", head="text_embedding")
    assert model.dense is None
    model.backbone.save_to_preset(str(tmp_path))
    restored = load_checkpoint(tmp_path, head="text_embedding")
    assert max_difference(restored.get_weights(), model.get_weights()) == 0.0


def test_head_of_another_kind_is_not_used(fixtures):
    # Their tensors have the same names.
    folder = fixtures / "hf_shared" / "multiple_choice"
    weights = load_checkpoint(folder, head=None).get_weights()
    check_new_head(folder, "sequence_classification", 5, weights)


def test_there_is_no_new_pretraining_head(fixtures, tmp_path):
    make_model("pretraining").backbone.save_to_preset(str(tmp_path))
    classifier = fixtures / "hf_shared" / "sequence_classification"
    for path in (tmp_path, classifier):
        with pytest.raises(ValueError, match="pretraining head must be in the files"):
            load_checkpoint(path, head="pretraining")


def test_head_is_the_one_in_the_files(fixtures, tmp_path):
    for head in SHARED_HEADS:
        assert head_of(load_checkpoint(fixtures / "hf_shared" / head)) == head
    assert head_of(load_checkpoint(fixtures / "google_tf1_shared")) == "pretraining"
    model = make_model("token_classification")
    model.save_to_preset(str(tmp_path / "whole"))
    assert type(load_checkpoint(tmp_path / "whole")) is type(model)
    model.backbone.save_to_preset(str(tmp_path / "backbone"))
    assert type(load_checkpoint(tmp_path / "backbone")) is AlbertBackbone
    with pytest.raises(ValueError, match="num_classes=5, head=None"):
        load_checkpoint(tmp_path / "backbone", num_classes=5)


def test_another_number_of_classes_gives_a_new_head(fixtures, tmp_path):
    head = "sequence_classification"
    config = make_config(num_layers=1).to_dict()
    model = HEADS[head].model(AlbertBackbone(**config), 3, labels=["a", "b", "c"])
    model.save_to_preset(str(tmp_path))
    for path, found in ((fixtures / "hf_shared" / head, 6), (tmp_path, 3)):
        weights = load_checkpoint(path, head=None).get_weights()
        check_new_head(path, head, 4, weights)
        whole = load_checkpoint(path, head=head)
        same = load_checkpoint(path, head=head, num_classes=found)
        assert max_difference(same.get_weights(), whole.get_weights()) == 0.0
        assert same.labels == whole.labels


def test_report_lists_every_variable(fixtures, tmp_path):
    folder = fixtures / "google_tf1_groups"
    model = load_checkpoint(folder, head=None, report=tmp_path / "report.json")
    rows = json.loads((tmp_path / "report.json").read_text())
    by_status = {
        status: [row for row in rows if row["status"] == status]
        for status in {row["status"] for row in rows}
    }
    assert by_status.keys() == {"loaded", "unused"}
    targets = [row["target"] for row in by_status["loaded"]]
    assert targets == [variable.path for variable in model.weights]
    unused = {row["source"].partition("/")[0] for row in by_status["unused"]}
    assert unused == {"cls", "global_step"}
    assert rows[0] == {
        "status": "loaded",
        "source": "bert/embeddings/word_embeddings",
        "source_shape": [61, 9],
        "target": "embedding/token_embedding/embeddings",
        "target_shape": [61, 9],
        "transposed": False,
    }


def test_report_is_written_even_if_nothing_is_loaded(fixtures, tmp_path):
    config = make_config(num_layers=2)
    folder = fixtures / "google_tf1_shared"
    with pytest.raises(ValueError, match="does not fit"):
        load_checkpoint(folder, config, report=tmp_path / "report.json")
    statuses = {
        row["status"] for row in json.loads((tmp_path / "report.json").read_text())
    }
    assert statuses >= {"loaded", "mis-shaped"}


def test_vocabulary_must_not_be_larger_than_the_table(fixtures, tmp_path):
    original = fixtures / "google_tf1_shared"
    folder = tmp_path / "theirs"
    shutil.copytree(original, folder, copy_function=shutil.copyfile)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokens = [f"{token}\n" for token in (*special, *range(57))]
    (folder / "vocab.txt").write_text("".join(tokens[:61]))
    assert load_checkpoint(folder).preprocessor.tokenizer("7 55") == [12, 60]
    (folder / "vocab.txt").write_text("".join(tokens[:60]))
    with pytest.warns(
        UserWarning, match="1 more rows than the tokenizer has tokens, 60"
    ):
        assert load_checkpoint(folder).preprocessor.tokenizer("7 54") == [12, 59]
    (folder / "vocab.txt").write_text("".join(tokens))
    message = "of 62 tokens, a model of 61. .*tokenizer=False.*resize_vocabulary"
    with pytest.raises(ValueError, match=message):
        load_checkpoint(folder)
    # What the message says.
    model = resize_vocabulary(load_checkpoint(folder, tokenizer=False), 62)
    (tmp_path / "right.txt").write_text("".join(tokens[:61]))
    right = load_checkpoint(folder, tokenizer=tmp_path / "right.txt")
    assert (model.backbone.vocabulary_size, model.preprocessor) == (62, None)
    assert right.preprocessor.tokenizer("7 55") == [12, 60]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vocabulary_size": 8_000_000}, "must be in the files.*lary_size=8000000"),
        ({"hidden_dim": 60_000}, "hidden_dim=60000"),
    ],
)
def test_config_larger_than_the_files_is_refused(changes, message, fixtures):
    config = make_config(**{"num_heads": 3, "hidden_dim": 24, **changes})
    with pytest.raises(ValueError, match=message):
        load_checkpoint(fixtures / "google_tf1_shared", config)


def test_new_head_and_backbone_can_have_a_new_pooler(fixtures):
    # As transformers leaves it out of masked-word models.
    folder = fixtures / "hf_shared" / "question_answering"
    with (
        pytest.warns(UserWarning, match="new: pooler/kernel, pooler/bias"),
        pytest.warns(UserWarning, match="has no sequence_classification head"),
    ):
        assert load_checkpoint(folder, head="sequence_classification").built
    with pytest.warns(UserWarning, match="new: pooler/kernel, pooler/bias"):
        backbone = load_checkpoint(folder, head=None)
    whole = load_checkpoint(folder, head="question_answering").backbone
    loaded, expected = (m.embedding.get_weights() for m in (backbone, whole))
    assert max_difference(loaded, expected) == 0.0


def test_preset_has_its_own_vocabulary_and_no_report(tmp_path):
    make_model("pretraining").save_to_preset(str(tmp_path))
    with pytest.raises(ValueError, match="loaded whole. .*report="):
        load_checkpoint(tmp_path, report=tmp_path / "report.json")
    (tmp_path / "vocab.txt").write_text("a\nb\n")
    with pytest.warns(UserWarning, match="no tokenizer: .*2 tokens without"):
        assert load_checkpoint(tmp_path).preprocessor is None


@pytest.mark.parametrize(
    ("format", "dtype"), [("google", "mixed_bfloat16"), ("keras", "float16")]
)
def test_dtype_is_that_of_the_whole_model(format, dtype, fixtures, tmp_path):
    folder = fixtures / "google_tf1_shared"
    whole = load_checkpoint(folder)
    if format == "keras":
        whole.save_to_preset(str(tmp_path))
        folder = tmp_path
    model = load_checkpoint(folder, dtype=dtype)
    policy = keras.DTypePolicy(dtype)
    for part in (model.backbone, model.mlm_head):
        assert part.compute_dtype == policy.compute_dtype
    assert {v.dtype for v in model.trainable_variables} == {policy.variable_dtype}
    inputs = {k: v % 2 for k, v in make_inputs().items()}
    inputs["mask_positions"] = np.tile([[1, 4, 0]], (5, 1))
    expected = whole(inputs)
    largest = np.abs(expected["mlm_logits"]).max()
    assert max_difference(model(inputs), expected) < 0.05 * largest


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("google_tf1_shared", {"head": "ranking"}, "None, pretraining.*head='ranking'"),
        ("google_tf1_shared", {"config": {"a": 3}}, "Received: {'a': 3}"),
        ("hf_shared/pretraining", {"source": "onnx"}, "keras, .*hugg.*source='onnx'"),
        ("hf_shared/pretraining", {"source": "google"}, "source='google'"),
        ("absent", {}, "Received: .*absent'"),
        *[
            (
                "google_tf1_shared",
                {"head": "token_classification", "num_classes": number},
                f"Received: num_classes={number}",
            )
            for number in (0, -3, 2.0)
        ],
        *[
            (
                "google_tf1_shared",
                {"head": head, "num_classes": 5},
                f"num_classes=5, head={head!r}",
            )
            for head in ("question_answering", "pretraining", None)
        ],
    ],
)
def test_bad_arguments_are_refused(name, options, message, fixtures):
    with pytest.raises((FileNotFoundError, TypeError, ValueError), match=message):
        load_checkpoint(fixtures / name, **options)


# === Models of `from_preset`, where the files are those of another library ===


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
    assert AlbertTextClassifier.from_preset(folder, dropout=0.5).dropout == 0.5
    with pytest.raises(TypeError, match="unexpected keyword argument 'depth'"):
        AlbertTextClassifier.from_preset(folder, depth=5)
    with pytest.raises(ValueError, match="must have no `tokenizer`. Received: vocab"):
        AlbertBackbone.from_preset(folder, tokenizer="vocab.txt")
