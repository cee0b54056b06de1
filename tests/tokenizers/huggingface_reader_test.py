"""Tokenizers from Hugging Face's files: `tokenizer.json`, options, added tokens."""

import json
import re
import warnings

import pytest
import tensorflow as tf
import tokenizers
from tokenizers import models, normalizers, pre_tokenizers

from albert_keras.tokenizers import (
    AlbertTokenizer,
    WordPieceTokenizer,
    load_tokenizer,
    train_sentence_piece,
)
from albert_keras.tokenizers.huggingface_files import write_tokenizer_files

TEXT = ["Café au lait, déjà vu", "in 2012, a quick fox", "lazy dogs (2) of 2012, too"]
TOKENS = [
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "mo", "##chte", "mö", "中", "##文"),
]


@pytest.fixture(scope="module")
def tokenizer():
    return AlbertTokenizer(train_sentence_piece(TEXT, 41), huggingface_quotes=True)


@pytest.fixture
def word_pieces(tmp_path):
    """A folder with a vocabulary of word pieces."""
    (tmp_path / "vocab.txt").write_text("\n".join(TOKENS) + "\n", "utf-8")
    return tmp_path


def write_options(folder, **options):
    (folder / "tokenizer_config.json").write_text(json.dumps(options), "utf-8")


def edit(file, change):
    content = json.loads(file.read_text("utf-8"))
    change(content)
    file.write_text(json.dumps(content), "utf-8")


def test_file_of_an_earlier_version_alone(tokenizer, tmp_path):
    write_tokenizer_files(tokenizer, 512, tmp_path)
    (tmp_path / "tokenizer_config.json").unlink()

    def as_before(content):
        (_, metaspace) = content["pre_tokenizer"]["pretokenizers"]
        del metaspace["prepend_scheme"], metaspace["split"]
        metaspace |= {"add_prefix_space": True, "str_rep": "▁"}
        spaces = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
        content["normalizer"]["normalizers"].append(spaces)

    edit(tmp_path / "tokenizer.json", as_before)
    again = load_tokenizer(tmp_path)
    texts = [*TEXT, "中 unknown"]
    assert again(texts) == tokenizer(texts)
    assert again(tf.constant(texts)).to_list() == tokenizer(texts)
    assert again.get_config() == {**tokenizer.get_config(), "name": again.name}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (
            lambda c: c["normalizer"]["normalizers"].append(
                {"type": "Replace", "pattern": {"String": "a"}, "content": "o"}
            ),
            "with .*Replace",
        ),
        (
            lambda c: c["pre_tokenizer"]["pretokenizers"][1].update(
                prepend_scheme="never"
            ),
            "with .*Metaspace.*'prepend_scheme': 'never'",
        ),
        (lambda c: c.update(pre_tokenizer={"type": "Whitespace"}), "with .*Whitespace"),
        (
            lambda c: c["normalizer"]["normalizers"].append({"type": "NFC"}),
            "with .*NFC",
        ),
        (
            lambda c: c["normalizer"]["normalizers"].remove({"type": "StripAccents"}),
            "NFKD",
        ),
        (
            lambda c: c.update(
                model={"type": "BPE", "vocab": {}, "merges": [], "dropout": None}
            ),
            "with BPE",
        ),
        (lambda c: c.update(model={"type": "Unigram"}), "of the library `tokenizers`"),
    ],
)
def test_what_is_not_read_is_named(tokenizer, change, named, tmp_path):
    write_tokenizer_files(tokenizer, 512, tmp_path)
    edit(tmp_path / "tokenizer.json", change)
    with pytest.raises(ValueError, match=named):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize("strip_accents", [None, False, True])
@pytest.mark.parametrize("split_chinese", [True, False])
def test_rules_of_bert(word_pieces, strip_accents, split_chinese):
    """Options, and then `tokenizer.json` alone; expected by `tokenizers` itself."""
    write_options(
        word_pieces, strip_accents=strip_accents, tokenize_chinese_chars=split_chinese
    )
    theirs = tokenizers.Tokenizer(
        models.WordPiece({t: i for i, t in enumerate(TOKENS)}, unk_token="[UNK]")
    )
    theirs.normalizer = normalizers.BertNormalizer(
        strip_accents=strip_accents, handle_chinese_chars=split_chinese
    )
    theirs.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    texts = ["Möchte", "中文", "mo chte中"]
    expected = [theirs.encode(text).ids for text in texts]
    assert load_tokenizer(word_pieces)(texts) == expected
    (word_pieces / "vocab.txt").unlink()
    theirs.save(str(word_pieces / "tokenizer.json"))
    assert load_tokenizer(word_pieces)(texts) == expected


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tokenizer_class": "BertJapaneseTokenizer"}, "tokenizer_class='BertJapanese"),
        ({"do_basic_tokenize": False}, "`do_basic_tokenize` must be True.*=False in"),
        ({"never_split": ["x"]}, "`never_split` must be .*never_split=.'x'. in"),
        ({"strip_accents": "no"}, "`strip_accents` must be true or false.*: 'no' in"),
    ],
)
def test_other_classes_and_options_are_refused(word_pieces, options, message):
    write_options(word_pieces, **options)
    with pytest.raises(ValueError, match=message):
        load_tokenizer(word_pieces)


def test_quotes_are_replaced_where_files_are_of_hugging_face(tokenizer, tmp_path):
    (tmp_path / "spiece.model").write_bytes(tokenizer.encoder.proto)
    assert load_tokenizer(tmp_path).get_config()["huggingface_quotes"] is False
    (tmp_path / "config.json").write_text('{"model_type": "albert"}')
    assert load_tokenizer(tmp_path).get_config()["huggingface_quotes"] is True
    # Where the rules are written, they count.
    write_tokenizer_files(AlbertTokenizer(tokenizer.encoder.proto), 512, tmp_path)
    assert load_tokenizer(tmp_path).get_config()["huggingface_quotes"] is False


@pytest.mark.parametrize(
    ("name", "kind"),
    [("BertTokenizerFast", WordPieceTokenizer), ("AlbertTokenizer", AlbertTokenizer)],
)
def test_of_two_vocabularies_the_one_of_the_class(word_pieces, tokenizer, name, kind):
    (word_pieces / "spiece.model").write_bytes(tokenizer.encoder.proto)
    (word_pieces / "config.json").write_text(json.dumps({"tokenizer_class": name}))
    assert type(load_tokenizer(word_pieces)) is kind


def test_added_tokens_are_found_anywhere(tokenizer, tmp_path):
    (tmp_path / "spiece.model").write_bytes(tokenizer.encoder.proto)
    (tmp_path / "added_tokens.json").write_text('{"[E1]": 41, "Covid": 42}')
    read = load_tokenizer(tmp_path)
    assert read.vocabulary_size() == 43
    assert read("[E1] a covid 2012") == [41, *tokenizer("a"), 42, *tokenizer("2012")]
    assert read(TEXT) == tokenizer(TEXT)
    # transformers 5 writes them in tokenizer.json alone.
    write_tokenizer_files(tokenizer, 512, tmp_path)
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    theirs.add_special_tokens(["[E1]"])
    # Pieces of the vocabulary, of which one also begins words.
    theirs.add_tokens(["covid", "a", "20"])
    theirs.save(str(tmp_path / "tokenizer.json"))
    text = "[E1]a covid2012 aacovid,"
    expected = theirs.encode(text, add_special_tokens=False)
    again = load_tokenizer(tmp_path)
    assert again(text) == expected.ids
    offsets = again.tokenize_with_offsets(text)[1]
    # A marker of words alone has no character here.
    pairs = zip(offsets, expected.offsets, strict=True)
    assert {ours == theirs or ours[0] == ours[1] for ours, theirs in pairs} == {True}
    ids, *spans = again.tokenize_with_spans(tf.constant([text]))
    assert ids.to_list() == [expected.ids]
    assert [*zip(*(span[0].numpy() for span in spans), strict=True)] == offsets


def test_added_tokens_that_text_cannot_have(word_pieces):
    (word_pieces / "added_tokens.json").write_text('{"[E1]": 10, "fox": 11}')
    with pytest.warns(UserWarning, match=r"words: \[E1\], fox\."):
        read = load_tokenizer(word_pieces)
    assert read("a Fox") == [1, 11]
    (word_pieces / "added_tokens.json").write_text('{"fox": 12}')
    message = re.escape("Received: {12: 'fox'} for")
    with pytest.raises(ValueError, match=message):
        load_tokenizer(word_pieces)
    # As some files repeat tokens of the vocabulary.
    (word_pieces / "added_tokens.json").write_text('{"[MASK]": 4}')
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load_tokenizer(word_pieces).vocabulary_size() == 10
