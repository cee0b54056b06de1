"""Folders laid out as those that people publish: what loads, and what is refused.

They have the weights of small fixtures. A layout changes the config and the files, but
not the numbers that the model computes.
"""

import dataclasses
import functools
import json
import warnings
from collections.abc import Callable, Mapping

import ml_dtypes
import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from albert_keras.converters import load_checkpoint
from albert_keras.converters.heads import head_of

# Keys that transformers 2.2 to 5 wrote, and other programs. None is read.
_NAMES = """
_attn_implementation_autoset _name_or_path _num_labels bad_words_ids classifier_dropout
decoder_start_token_id directionality do_sample down_scale_factor dtype early_stopping
eos_token_id eos_token_ids finetuning_task gap_size gradient_checkpointing language
layers_to_keep length_penalty max_length min_length name name_or_path net_structure_type
no_repeat_ngram_size num_beams num_memory_blocks num_return_sequences output_attentions
output_hidden_states output_past pooler_fc_size pooler_num_attention_heads
pooler_num_fc_layers pooler_size_per_head pooler_type prefix repetition_penalty
task_specific_params temperature top_k top_p torch_dtype torchscript use_bfloat16
use_cache xla_device
"""
OTHER_KEYS = dict.fromkeys(_NAMES.split()) | {
    **{"is_decoder": False, "is_encoder_decoder": False, "pruned_heads": {}},
    **{"position_embedding_type": "absolute", "tokenizer_class": "BertTokenizer"},
    **{"problem_type": "single_label_classification", "num_labels": 2},
    **{"transformers.js_config": {"dtype": "q8"}, "transformers_version": "5.23.0"},
}
# As many tokens as the fixtures' tables have rows.
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "好", "电", "影"]
VOCABULARY += [f"##{number}" for number in range(53)]
CHINESE = {
    "vocab.txt": "\n".join(VOCABULARY) + "\n",
    "tokenizer_config.json": json.dumps({"tokenizer_class": "BertTokenizer"}),
}
WORD_TABLE = "albert.embeddings.word_embeddings.weight"
POSITION_TABLE = "albert.embeddings.position_embeddings.weight"


@dataclasses.dataclass(frozen=True)
class Layout:
    """A layout of published files.

    Args:
        head: str. The fixture with the weights.
        config: Mapping. Keys of `config.json`, and `...` for one that it lacks.
        edit: Function of the dict of tensors, which returns another one.
        save: Function `(tensors, folder)`.
        files: Mapping from further files to their text.
        labels: Tuple or None. Names of the classes of the loaded model.
        warning: str. Pattern of the only warning, or "".
        loads: str or None. Head of the loaded model.
        tolerance: float. Of weights.
    """

    head: str = "sequence_classification"
    config: Mapping = dataclasses.field(default_factory=dict)
    edit: Callable = dict
    save: Callable = lambda tensors, folder: save_whole(tensors, folder)
    files: Mapping = dataclasses.field(default_factory=dict)
    labels: tuple | None = None
    warning: str = ""
    loads: str | None = "head"
    tolerance: float = 0.0

    def write(self, fixtures, folder):
        """Writes the files, and returns the folder."""
        original = fixtures / "hf_shared" / self.head
        folder.mkdir()
        stated = json.loads((original / "config.json").read_text()) | self.config
        # Layers share their weights, and a model of one is built faster.
        stated["num_hidden_layers"] = 1
        stated = {key: value for key, value in stated.items() if value is not ...}
        (folder / "config.json").write_text(json.dumps(stated))
        self.save(self.edit(load_file(original / "model.safetensors")), folder)
        for name, text in self.files.items():
            (folder / name).write_text(text, "utf-8")
        return folder


def save_whole(tensors, folder, name="model.safetensors"):
    """Writes one file."""
    tensors = {key: np.ascontiguousarray(value) for key, value in tensors.items()}
    save_file(tensors, folder / name, metadata={"format": "pt"})


def save_shards(tensors, folder):
    """Writes two files and their index."""
    names = sorted(tensors)
    weight_map = {}
    for number, part in enumerate((names[::2], names[1::2]), start=1):
        file = f"model-{number:05}-of-00002.safetensors"
        save_whole({name: tensors[name] for name in part}, folder, file)
        weight_map |= dict.fromkeys(part, file)
    index = {"metadata": {"total_size": 1}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def renamed(rename):
    """Returns an edit that renames all tensors."""
    return lambda tensors: {rename(name): value for name, value in tensors.items()}


def without(*beginnings):
    """Returns an edit that removes tensors by the beginning of their names."""
    return lambda tensors: {
        name: value
        for name, value in tensors.items()
        if not name.startswith(beginnings)
    }


def with_added(*names):
    """Returns an edit that adds tensors of no meaning for the model."""
    return lambda tensors: tensors | {name: np.ones(3, "float32") for name in names}


def with_rows(num_rows, *names):
    """Returns an edit that pads tables with rows."""
    return lambda tensors: {
        name: np.resize(value, (num_rows, *value.shape[1:])) if name in names else value
        for name, value in tensors.items()
    }


def with_copies(tensors):
    """Adds copies of the tied tensors and the constant, as before transformers 4.31."""
    return tensors | {
        "albert.embeddings.position_ids": np.arange(19)[np.newaxis],
        "predictions.decoder.weight": tensors[WORD_TABLE].copy(),
        "predictions.decoder.bias": tensors["predictions.bias"].copy(),
    }


def of_decoder(*names):
    """Returns an edit that has tied tensors under the names of the decoder alone."""
    new = {"predictions.bias": "predictions.decoder.bias"}
    new[WORD_TABLE] = "predictions.decoder.weight"
    return renamed(lambda name: new[name] if name in names else name)


def of_type(dtype):
    """Returns an edit that stores numbers of another type."""
    return lambda tensors: {name: v.astype(dtype) for name, v in tensors.items()}


def old_norms(name):
    """Returns the name of a tensor before transformers 2."""
    name = name.replace("LayerNorm.weight", "LayerNorm.gamma")
    return name.replace("LayerNorm.bias", "LayerNorm.beta")


def of_classes(*labels):
    """Returns the keys of `config.json` that name the classes."""
    return {"id2label": {str(i): label for i, label in enumerate(labels)}}


def of_architecture(name, **keys):
    """Returns keys of `config.json`."""
    return {"architectures": [name], **keys}


SQUAD = "question_answering"
TAGS = "token_classification"
WORDS = "pretraining"
NO_PAIRS = "no sentence-pair head"

LAYOUTS = {
    # What transformers of each time wrote.
    "albert-base-v2, transformers 2.2": Layout(
        WORDS,
        OTHER_KEYS | of_architecture("AlbertForMaskedLM", model_type=...),
        edit=lambda tensors: with_copies(without("sop_classifier")(tensors)),
        warning=NO_PAIRS,
    ),
    "ahotrod/albert_xxlargev1_squad2_512": Layout(
        SQUAD, OTHER_KEYS | {"architectures": ...}
    ),
    "elgeish/cs224n-squad2.0, pooler kept": Layout(
        SQUAD,
        OTHER_KEYS,
        edit=lambda tensors: (
            tensors
            | {
                "albert.pooler.weight": np.ones((24, 24), "float32"),
                "albert.pooler.bias": np.ones(24, "float32"),
            }
        ),
    ),
    "sentence-transformers/paraphrase-albert": Layout(
        config=OTHER_KEYS | of_architecture("AlbertModel"),
        edit=lambda tensors: renamed(lambda name: name.removeprefix("albert."))(
            without("classifier")(tensors)
        ),
        files={"modules.json": "[]"},
        loads=None,
    ),
    # Of other languages.
    "clue/albert_chinese_tiny": Layout(
        WORDS, OTHER_KEYS | {"architectures": ...}, files=CHINESE
    ),
    "ckiplab/albert-tiny-chinese-ner": Layout(
        TAGS,
        OTHER_KEYS | of_classes("O", "B-PER", "I-PER", "E-PER", "S-PER", "B-LOC"),
        files=CHINESE,
        labels=("O", "B-PER", "I-PER", "E-PER", "S-PER", "B-LOC"),
    ),
    "Rostlab/prot_albert": Layout(
        WORDS,
        OTHER_KEYS | {"max_position_embeddings": 40_000, "model_type": "albert"},
        edit=with_rows(40_000, POSITION_TABLE),
        files={"vocab.txt": CHINESE["vocab.txt"]},
    ),
    # Of other programs and habits.
    "keys of a program": Layout(
        config={"my_key": 3, "adapters": {}}, warning="ignored: adapters, my_key[.]"
    ),
    "null where transformers has a default": Layout(
        config=dict.fromkeys(
            ("pruned_heads", "is_decoder", "model_type", "position_embedding_type")
        )
    ),
    "sharded": Layout(save=save_shards),
    "float16": Layout(edit=of_type("float16"), tolerance=1e-3),
    "bfloat16": Layout(edit=of_type(ml_dtypes.bfloat16), tolerance=1e-2),
    "names of before transformers 2": Layout(edit=renamed(old_norms)),
    "a class that calls it bert": Layout(
        edit=renamed(lambda name: name.replace("albert.", "bert."))
    ),
    "torch.nn.DataParallel": Layout(edit=renamed(lambda name: f"module.{name}")),
    "leftovers of a loss": Layout(
        edit=with_added("loss_fct.weight", "crf.transitions"),
        warning="ignored: crf.transitions, loss_fct.weight",
    ),
    "leftovers of pretraining": Layout(edit=with_added("predictions.bias")),
    "padded to a multiple of 8": Layout(
        WORDS,
        {"vocab_size": 64},
        edit=with_rows(64, WORD_TABLE, "predictions.bias"),
        files=CHINESE,
        warning="3 more rows than the tokenizer has tokens, 61",
    ),
    "the decoder alone": Layout(WORDS, edit=of_decoder(WORD_TABLE, "predictions.bias")),
    "numbers as labels": Layout(
        config=of_classes(1, 2.5, 3, 4, True, "no stars"),
        labels=("1", "2.5", "3", "4", "True", "no stars"),
    ),
    "a label twice": Layout(
        config=of_classes("a", "b", "c", "d", "e", "a"),
        warning="`id2label` in '.*config.json' does not name each of 6 classes once",
    ),
    "a tagger whose config names no class": Layout(TAGS, {"architectures": ...}),
    "an activation under an older name": Layout(config={"hidden_act": "gelu_accurate"}),
}

# What is not read: files of a folder, or changes of the config, and the error.
REFUSED = {
    "PEFT": (
        {"adapter_config.json": "{}", "adapter_model.safetensors": ""},
        "'.*adapter_config.json' is an adapter of PEFT alone: .*merge_and_unload",
    ),
    "Flax": (
        {"config.json": "{}", "flax_model.msgpack": ""},
        "'.*flax_model.msgpack' is of Flax: .*from_flax=True",
    ),
    "ONNX": ({"onnx/model.onnx": ""}, "'.*model.onnx' is a graph"),
    "GGUF": ({"albert.gguf": ""}, "'.*albert.gguf' is of llama.cpp"),
    "Lightning": (
        {"epoch=3.ckpt": ""},
        "'.*epoch=3.ckpt' is of a training program: .*state dict",
    ),
    "Keras": ({"albert.h5": ""}, "'.*albert.h5' is .*: rename it to tf_model.h5"),
    "PyTorch": (
        {"albert.pt": ""},
        "'.*albert.pt' is .*: rename it to pytorch_model.bin",
    ),
    "another name": (
        {"albert.safetensors": "", "config.json": "{}"},
        "'.*albert.safetensors' is under another name: rename it to model.safetensors",
    ),
    "a Trainer's folder": (
        {"checkpoint-500/model.safetensors": ""},
        "Give the folder that holds the weights: '.*checkpoint-500'",
    ),
    "no weights": (
        {"config.json": "{}", "vocab.txt": ""},
        "holds no weights, but config.json, vocab.txt[.]",
    ),
    "a shard missing": (
        {"model.safetensors.index.json": '{"weight_map": {"a": "b.safetensors"}}'}
        | {"config.json": json.dumps({})},
        "cannot be read.*'.*b.safetensors'",
    ),
    "a shard elsewhere": (
        {"model.safetensors.index.json": '{"weight_map": {"a": "../b.safetensors"}}'},
        "Invalid name '../b.safetensors'",
    ),
}
REFUSED_KEYS = {
    "is_decoder": True,
    "add_cross_attention": True,
    "pruned_heads": {"0": [1]},
    "position_embedding_type": "relative_key",
    "quantization_config": {"load_in_8bit": True},
    "per_layer_config": {"0": {"intermediate_size": 8}},
    "tie_word_embeddings": False,
    "model_type": "bert",
}

# Sizes that layouts may change: of tables, which they pad, and of shared layers.
SIZES = ("vocabulary_size", "max_sequence_length", "num_layers")


@functools.cache
def load_fixture(folder):
    # Its outputs are those of transformers: tests/converters/loading_test.py.
    return load_checkpoint(folder)


def load(folder, pattern):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = load_checkpoint(folder)
    messages = [str(warning.message) for warning in caught]
    assert len(messages) == bool(pattern), messages
    if pattern:
        with pytest.warns(UserWarning, match=pattern):
            warnings.warn(messages[0], stacklevel=1)
    return model


@pytest.mark.parametrize("name", LAYOUTS)
def test_layout_loads_to_the_weights_of_its_fixture(name, fixtures, tmp_path):
    layout = LAYOUTS[name]
    folder = layout.write(fixtures, tmp_path / "published")
    model = load(folder, layout.warning)
    assert head_of(model) == (layout.head if layout.loads else None)
    assert getattr(model, "labels", None) == layout.labels
    expected = load_fixture(fixtures / "hf_shared" / layout.head)
    config, other = (
        getattr(each, "backbone", each).albert_config for each in (model, expected)
    )
    sizes = {name: getattr(config, name) for name in SIZES}
    assert config == dataclasses.replace(other, **sizes)
    both = (model, expected)
    reads_pooled_output = all(getattr(m, "reads_pooled_output", True) for m in both)
    weights = {variable.path: np.array(variable) for variable in expected.weights}
    for variable in model.weights:
        wanted = weights[variable.path]
        found = np.array(variable)[: len(wanted)]
        is_new = "pooler" in variable.path and not reads_pooled_output
        assert is_new or np.abs(found - wanted).max() <= layout.tolerance, variable.path
    if "vocab.txt" in layout.files:
        preprocessor = model.preprocessor
        assert preprocessor.tokenizer("好电影") == [5, 6, 7]
        assert preprocessor.sequence_length == min(512, config.max_sequence_length)


@pytest.mark.parametrize("name", REFUSED)
def test_files_that_are_not_read_are_named(name, fixtures, tmp_path):
    files, message = REFUSED[name]
    for file, text in files.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text)
    stated = fixtures / "hf_shared" / "pretraining" / "config.json"
    if "model.safetensors.index.json" in files:
        (tmp_path / "config.json").write_text(stated.read_text())
    with pytest.raises((FileNotFoundError, ValueError), match=message):
        load_checkpoint(tmp_path)


@pytest.mark.parametrize("key", REFUSED_KEYS)
def test_keys_that_change_what_is_computed_are_refused(key, fixtures, tmp_path):
    value = REFUSED_KEYS[key]
    folder = Layout(config={key: value}).write(fixtures, tmp_path / "published")
    with pytest.raises(ValueError, match=f"must have {key}=.*Received: {key}=.*json'"):
        load_checkpoint(folder)


def test_file_of_weights_itself(fixtures):
    folder = fixtures / "hf_shared" / "pretraining"
    with pytest.raises(FileNotFoundError, match="Give the folder .*pretraining'"):
        load_checkpoint(folder / "model.safetensors")
