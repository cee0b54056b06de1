"""Training a vocabulary: special pieces, samples of the texts, and bad ones."""

import collections
import pathlib

import pytest
import sentencepiece

from albert_keras.tokenizers import AlbertTokenizer, train_sentence_piece
from albert_keras.tokenizers.vocabulary import sample_texts

TEXTS = [
    "The quick brown Fox jumps over the lazy dog (twice).",
    "In 2012, a café sold 1,000 cups – for £3 each!",
    "the fox and the dog and the café",
]


@pytest.fixture(scope="module")
def wikitext(shared):
    return shared / "data/corpora/wikitext2/valid.txt"


@pytest.fixture(scope="module")
def trained(wikitext):
    return train_sentence_piece([wikitext], 2000)


def test_special_pieces_have_the_released_ids(trained):
    processor = sentencepiece.SentencePieceProcessor(model_proto=trained)
    pieces = processor.IdToPiece(list(range(13)))
    assert pieces[:5] == ["<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"]
    assert pieces[5:] == ["(", ")", '"', "-", ".", "–", "£", "€"]
    assert [processor.IsControl(i) for i in range(6)] == [1, 0, 1, 1, 1, 0]
    assert processor.IsUnknown(1)
    assert (processor.bos_id(), processor.eos_id()) == (-1, -1)
    assert len(processor) == 2000


@pytest.mark.slow
def test_same_texts_same_bytes(trained, wikitext, tmp_path):
    lines = wikitext.read_text(encoding="utf-8").split("\n")
    path = tmp_path / "folder" / "new.model"
    assert train_sentence_piece(lines, 2000, path) == trained
    assert path.read_bytes() == trained
    assert train_sentence_piece(lines, 2000, max_texts=len(lines), seed=3) == trained
    few = train_sentence_piece(lines, 2000, max_texts=500)
    assert few != trained
    assert train_sentence_piece(lines, 2000, max_texts=500, seed=0) == few
    assert train_sentence_piece(lines, 2000, max_texts=500, seed=3) != few


def test_text_is_preprocessed():
    pieces = "".join(AlbertTokenizer(train_sentence_piece(TEXTS, 50)).get_vocabulary())
    assert "F" not in pieces
    assert "é" not in pieces
    proto = train_sentence_piece(TEXTS, 50, lowercase=False, strip_accents=False)
    pieces = "".join(AlbertTokenizer(proto).get_vocabulary())
    assert "F" in pieces
    assert "é" in pieces


def test_byte_fallback():
    tokenizer = AlbertTokenizer(train_sentence_piece(TEXTS, 306, byte_fallback=True))
    ids, offsets = tokenizer.tokenize_with_offsets("fox 好")
    assert tokenizer.unk_token_id not in ids
    assert tokenizer.detokenize(ids) == "fox 好"
    assert offsets[-3:] == [(4, 5), (4, 5), (4, 5)]


def test_long_texts_are_not_left_out(tmp_path):
    # Uncut, this text takes SentencePiece ten seconds.
    text = "zebra " * 20_000 + "word " * 20_000 + "é" * 10_000
    proto = train_sentence_piece([text, "word"], 22, character_coverage=1.0)
    tokenizer = AlbertTokenizer(proto)
    assert tokenizer.unk_token_id not in tokenizer("zebra ee")
    path = tmp_path / "long.txt"
    path.write_text(f"{text}\nword\n", "utf-8")
    assert train_sentence_piece([path], 22, character_coverage=1.0) == proto


def test_nothing_is_printed(capfd):
    train_sentence_piece(TEXTS, 50)
    assert capfd.readouterr() == ("", "")


# === Samples ===


def test_a_sample_keeps_the_order():
    texts = [f"text {number}" for number in range(1000)]
    sample, num_seen = sample_texts(iter(texts), max_texts=70, seed=1)
    assert (len(sample), num_seen) == (70, 1000)
    assert sample == sorted(set(sample), key=texts.index)
    assert sample_texts(texts, 70, seed=1).texts == sample
    assert sample_texts(texts, 70, seed=2).texts != sample
    assert sample_texts(texts, 1000) == sample_texts(texts) == (texts, 1000)


def test_texts_are_equally_likely():
    drawn = collections.Counter()
    for seed in range(2000):
        drawn.update(sample_texts([*"abcdefghij"], 3, seed).texts)
    assert sum(drawn.values()) == 6000
    # Three standard deviations of a binomial of 2000 draws at 0.3 are 61.
    assert all(abs(count - 600) < 62 for count in drawn.values())


def test_white_space_is_skipped():
    assert sample_texts(["", "a ", " \n", "\u3000", "b"], 2) == (["a ", "b"], 2)


def test_samples_have_a_text():
    with pytest.raises(
        ValueError, match="must be a positive integer. Received: max_texts=0"
    ):
        sample_texts(TEXTS, 0)


# === Bad input ===


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (
            9000,
            "take another size or more text.*vocabulary_size=9000, 3 texts.*too high",
        ),
        (20, "vocabulary_size=20, 3 texts.*smaller than required_chars"),
        (0, "must be a positive integer. Received: vocabulary_size=0"),
    ],
)
def test_vocabulary_size_does_not_fit(size, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        train_sentence_piece(TEXTS, size, tmp_path / "new.model")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("texts", "options", "message"),
    [
        ([], {}, "must hold some text"),
        (["", " \n "], {}, "must hold some text"),
        (TEXTS, {"character_coverage": 0.5}, "says: .*character_coverage"),
        ("text", {}, "list of str or paths. Received: .*text"),
        (pathlib.Path("text.txt"), {}, "list of str or paths. Received: .*text"),
        (["text", 7], {}, r"Received: 7 \(of type int\)"),
        ([pathlib.Path("no/text.txt")], {}, "path of a file.*texts='no/text.txt'"),
    ],
)
def test_bad_texts_are_refused(texts, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        train_sentence_piece(texts, 50, **options)


def test_a_file_that_is_not_utf8_is_named(tmp_path):
    (tmp_path / "latin.txt").write_bytes("café".encode("latin-1"))
    with pytest.raises(ValueError, match=r"must be UTF-8. Received: .*latin.txt"):
        train_sentence_piece([tmp_path / "latin.txt"], 50)
