"""Tokenizers of models: given as objects or paths, and their sizes."""

import pytest

import albert_keras as ak
from albert_keras.tokenizers.loading import find_tokenizer
from tests.helpers import make_config

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


@pytest.fixture
def vocabularies(tmp_path):
    """Files of 5, 7 and 62 tokens, in a folder each."""
    paths = {}
    for size in (5, 7, 62):
        paths[size] = tmp_path / f"tokens_{size}" / "vocab.txt"
        paths[size].parent.mkdir()
        tokens = [*SPECIAL, *map(str, range(57))][:size]
        paths[size].write_text("\n".join(tokens) + "\n")
    return paths


def test_tokenizer_is_an_object_a_path_or_beside(vocabularies):
    file = vocabularies[7]
    tokenizer = ak.load_tokenizer(file)
    assert find_tokenizer(None, tokenizer, 7) is tokenizer
    for given in (file, str(file), file.parent):
        assert find_tokenizer(vocabularies[5], given, 7)("1 0") == [6, 5]
    assert find_tokenizer(file.parent, None, 7)("1 0") == [6, 5]
    assert find_tokenizer(file, False, 7) is None
    assert find_tokenizer(file.with_name("absent"), None, 7) is None
    with pytest.raises(FileNotFoundError, match="tokenizer, .* must be .*: '3.5'"):
        find_tokenizer(file, 3.5, 7)
    with pytest.raises(ValueError, match="of 62 pieces, a model of 7[.]"):
        find_tokenizer(file, vocabularies[62], 7)
    with pytest.warns(UserWarning, match="has 2 more rows than .*, 5: the last rows"):
        find_tokenizer(None, vocabularies[5], 7)


def test_preset_takes_another_tokenizer_and_keeps_its_options(vocabularies, tmp_path):
    backbone = ak.AlbertBackbone(**make_config(vocabulary_size=7).to_dict())
    reversed_file = tmp_path / "reversed.txt"
    reversed_file.write_text("\n".join([*SPECIAL, "1", "0"]) + "\n")
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
    with pytest.raises(ValueError, match="of 62 pieces, a model of 7[.]"):
        ak.load_checkpoint(tmp_path / "preset", tokenizer=vocabularies[62])
