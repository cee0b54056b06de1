"""Loading of the tokenizer of a checkpoint."""

import json
import shutil

import pytest

import albert_keras as ak
from albert_keras.converters.checkpoint import save_vocabulary
from albert_keras.tokenizers import (
    AlbertTokenizer,
    WordPieceTokenizer,
    load_tokenizer,
    train_sentence_piece,
)
from albert_keras.tokenizers.loading import find_tokenizer, find_vocabulary
from tests.helpers import make_config

TEXT = ["Café au lait, déjà vu", "a quick brown fox", "lazy dogs jump over the fox"]
TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "play", "##ing", "好"]


@pytest.fixture(scope="module")
def proto():
    return train_sentence_piece(TEXT, 43)


@pytest.mark.parametrize("name", ["30k-clean.model", "spiece.model", "vocabulary.spm"])
@pytest.mark.parametrize("inner", [".", "assets", "assets/tokenizer"])
def test_sentence_piece_models_are_found(name, inner, proto, tmp_path):
    folder = tmp_path / inner
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(proto)
    assert find_vocabulary(tmp_path) == folder / name
    (tmp_path / "model.ckpt-best.index").touch()
    assert find_vocabulary(tmp_path / "model.ckpt-best") == folder / name
    tokenizer = load_tokenizer(tmp_path)
    assert isinstance(tokenizer, AlbertTokenizer)
    assert tokenizer(TEXT) == AlbertTokenizer(proto)(TEXT)


@pytest.mark.parametrize("name", ["vocab.txt", "vocab_chinese.txt"])
def test_word_piece_vocabularies_are_found(name, tmp_path):
    (tmp_path / name).write_text("".join(f"{t}\n" for t in TOKENS), "utf-8")
    tokenizer = load_tokenizer(tmp_path)
    assert isinstance(tokenizer, WordPieceTokenizer)
    assert tokenizer("Playing好") == [5, 6, 7]


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("accents", [True, False])
def test_options_of_tokenizer_config(lowercase, accents, proto, tmp_path):
    (tmp_path / "spiece.model").write_bytes(proto)
    stated = {"do_lower_case": lowercase, "keep_accents": accents}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(stated))
    expected = AlbertTokenizer(proto, lowercase, strip_accents=not accents)
    assert load_tokenizer(tmp_path)(TEXT) == expected(TEXT)
    # Arguments have priority.
    asked = load_tokenizer(tmp_path, lowercase=not lowercase, strip_accents=accents)
    other = AlbertTokenizer(proto, not lowercase, strip_accents=accents)
    assert asked(TEXT) == other(TEXT)


def test_preset_stores_its_options(proto, tmp_path):
    tokenizer = AlbertTokenizer(proto, lowercase=False)
    tokenizer.save_to_preset(str(tmp_path))
    assert load_tokenizer(tmp_path).get_config()["lowercase"] is False
    assert load_tokenizer(tmp_path, lowercase=False).get_config()["lowercase"] is False
    assert load_tokenizer(tmp_path, lowercase=True).get_config()["lowercase"] is True
    assert load_tokenizer("albert_nano_en").vocabulary_size() == 8000


@pytest.mark.parametrize("name", ["absent", "empty"])
def test_missing_vocabulary(name, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        FileNotFoundError, match=f"Received: '.*{name}', (with no files|which does not)"
    ):
        load_tokenizer(tmp_path / name)


@pytest.mark.parametrize("name", ["30k-claen.model", "vocab_zh.txt", "absent"])
def test_misspelt_vocabulary_is_not_replaced_by_a_neighbour(name, proto, tmp_path):
    (tmp_path / "30k-clean.model").write_bytes(proto)
    with pytest.raises(FileNotFoundError, match=f"{name}', which does not exist"):
        load_tokenizer(tmp_path / name)


def test_several_vocabularies(proto, tmp_path):
    for name in ("a.model", "b.model"):
        (tmp_path / name).write_bytes(proto)
    with pytest.raises(
        ValueError, match="one vocabulary. Received: .*a.model, .*b.mod"
    ):
        load_tokenizer(tmp_path)
    assert load_tokenizer(tmp_path / "b.model").vocabulary_size() == 43


def test_preset_does_not_lead_to_other_files(proto, tmp_path):
    AlbertTokenizer(proto).save_to_preset(str(tmp_path))
    stated = json.loads((tmp_path / "tokenizer.json").read_text())
    stated["config"]["proto"] = "/etc/passwd"
    (tmp_path / "tokenizer.json").write_text(json.dumps(stated))
    pieces = AlbertTokenizer(proto).get_vocabulary()
    assert load_tokenizer(tmp_path).get_vocabulary() == pieces


def test_vocabularies_are_saved_under_published_names(proto, tmp_path):
    tokenizers = {
        "spiece.model": AlbertTokenizer(proto),
        "vocab.txt": WordPieceTokenizer(TOKENS),
    }
    for name, tokenizer in tokenizers.items():
        folder = tmp_path / name.partition(".")[0]
        folder.mkdir()
        save_vocabulary(tokenizer, folder)
        assert [file.name for file in folder.iterdir()] == [name]
        again = load_tokenizer(folder)
        assert again.get_vocabulary() == tokenizer.get_vocabulary()
        shutil.rmtree(folder)


@pytest.fixture
def vocabularies(tmp_path):
    """Files of 5, 7 and 62 tokens, in a folder each."""
    paths = {}
    for size in (5, 7, 62):
        paths[size] = tmp_path / f"tokens_{size}" / "vocab.txt"
        paths[size].parent.mkdir()
        tokens = [*TOKENS[:5], *map(str, range(57))][:size]
        paths[size].write_text("\n".join(tokens) + "\n")
    return paths


def test_tokenizer_is_an_object_a_path_or_beside(vocabularies):
    file = vocabularies[7]
    tokenizer = ak.load_tokenizer(file)
    assert find_tokenizer(file, tokenizer, 7) is tokenizer
    for given in (file, str(file), file.parent):
        assert find_tokenizer(vocabularies[5], given, 7)("1 0") == [6, 5]
    assert find_tokenizer(file.parent, None, 7)("1 0") == [6, 5]
    assert find_tokenizer(file, False, 7) is None
    assert find_tokenizer(file.with_name("absent"), None, 7) is None
    with pytest.raises(FileNotFoundError, match="tokenizer must be .*: '3.5'"):
        find_tokenizer(file, 3.5, 7)
    with pytest.raises(ValueError, match="of 62 tokens, a model of 7[.]"):
        find_tokenizer(file, vocabularies[62], 7)
    with pytest.warns(UserWarning, match="has 2 more rows than .*, 5: the last rows"):
        find_tokenizer(file, vocabularies[5], 7)


def test_preset_takes_another_tokenizer_and_keeps_its_options(vocabularies, tmp_path):
    backbone = ak.AlbertBackbone(**make_config(vocabulary_size=7).to_dict())
    reversed_file = tmp_path / "reversed.txt"
    reversed_file.write_text("\n".join([*TOKENS[:5], "1", "0"]) + "\n")
    preprocessor = ak.AlbertTextClassifierPreprocessor(
        ak.load_tokenizer(vocabularies[7]), sequence_length=11, takes_pairs=True
    )
    model = ak.AlbertTextClassifier(backbone, 3, preprocessor)
    model.save_to_preset(str(tmp_path / "preset"))
    for loaded in (
        ak.AlbertTextClassifier.from_preset(
            tmp_path / "preset", tokenizer=reversed_file
        ),
        ak.load_checkpoint(tmp_path / "preset", tokenizer=reversed_file),
        ak.load_run(tmp_path / "preset", tokenizer=reversed_file).model,
    ):
        assert loaded.preprocessor.tokenizer("1 0") == [5, 6]
        assert loaded.preprocessor.sequence_length == 11
        assert loaded.preprocessor.takes_pairs
        assert loaded.preprocessor(["1"])["token_ids"][0, 1] == 5
    assert ak.load_checkpoint(tmp_path / "preset", tokenizer=False).preprocessor is None
    new = ak.AlbertTokenClassifier.from_preset(
        tmp_path / "preset", num_classes=2, tokenizer=reversed_file
    )
    assert new.preprocessor.tokenizer("1 0") == [5, 6]
    assert new.preprocessor.sequence_length == 19
    with pytest.raises(ValueError, match="of 62 tokens, a model of 7[.]"):
        ak.load_checkpoint(tmp_path / "preset", tokenizer=vocabularies[62])
