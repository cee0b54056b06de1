"""ALBERT's tokenizer as a Keras layer: the graph side and the options."""

import pytest
import tensorflow as tf

from albert_keras.tokenizers import AlbertTokenizer
from tests.tokenizers.vocabularies import ENGLISH, GERMAN


@pytest.fixture(scope="module")
def english(shared):
    return AlbertTokenizer(shared / ENGLISH)


@pytest.mark.parametrize(
    ("vocabulary", "options"),
    [
        (ENGLISH, {}),
        (GERMAN, {}),
        (GERMAN, {"lowercase": False, "split_digit_comma": False}),
        (GERMAN, {"strip_accents": False}),
        (ENGLISH, {"huggingface_quotes": True, "mask_in_text": True}),
    ],
    ids=str,
)
def test_graph_equals_python(shared, texts, vocabulary, options):
    tokenizer = AlbertTokenizer(shared / vocabulary, **options)
    assert tokenizer(tf.constant(texts)).to_list() == tokenizer.encode_batch(texts)


def test_mask_in_text(shared):
    tokenizer = AlbertTokenizer(shared / ENGLISH, mask_in_text=True)
    text = "Paris is the [MASK] of\t [MASK]. [MASK]s"
    ids = [1162, 25, 14, 4, 16, 4, 9, 4, 18]
    assert tokenizer(text) == ids
    assert tokenizer(tf.constant(text)).numpy().tolist() == ids
    found, offsets = tokenizer.tokenize_with_offsets(text)
    assert found == ids
    assert [text[a:b] for a, b in offsets][3:] == "[MASK] of [MASK] . [MASK] s".split()
    # The option changes no text without a mask.
    plain = "user-defined (pieces) – and 2012, too"
    assert tokenizer(plain) == AlbertTokenizer(shared / ENGLISH)(plain)


def test_mask_is_ordinary_text_by_default(english):
    assert english.mask_token_id not in english("the [MASK]")


def test_huggingface_quotes(shared):
    tokenizer = AlbertTokenizer(shared / ENGLISH, huggingface_quotes=True)
    assert tokenizer("``word''") == tokenizer('"word"')


def test_keeping_accents(shared):
    kept = AlbertTokenizer(shared / GERMAN, lowercase=False, strip_accents=False)
    assert kept.detokenize(kept("Schöne Äpfel")) == "Schöne Äpfel"
    stripped = AlbertTokenizer(shared / GERMAN, lowercase=False)
    assert stripped.detokenize(stripped("Schöne Äpfel")) == "Schone Apfel"


def test_special_tokens(english):
    assert english.special_tokens == ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
    assert english.special_token_ids == [0, 1, 2, 3, 4]
    assert (english.pad_token_id, english.unk_token_id) == (0, 1)
    assert (english.cls_token_id, english.start_token_id) == (2, 2)
    assert (english.sep_token_id, english.end_token_id) == (3, 3)
    assert english.mask_token_id == 4


def test_vocabulary(english):
    assert english.vocabulary_size() == len(english.get_vocabulary()) == 30000
    assert english.id_to_token(48) == "▁this"
    assert english.token_to_id("▁this") == 48
    assert english.token_to_id("no such piece") == english.unk_token_id
