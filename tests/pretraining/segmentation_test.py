"""Chinese words: golden sentences, and properties of any text."""

import itertools
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

from albert_keras.pretraining.segmentation import make_segmenter
from albert_keras.tokenizers import AlbertTokenizer, WordPieceTokenizer
from albert_keras.tokenizers.word_splitting import CHINESE
from tests.tokenizers.conftest import corpus_lines, stress_texts, texts_of_words

__all__ = ["corpus_lines", "stress_texts", "texts_of_words"]

ROOT = pathlib.Path(__file__).parents[2]
VOCABULARY = "data/tokenizers/albert_zh/vocab.txt"


@pytest.fixture(scope="module")
def encoder(shared):
    return WordPieceTokenizer(shared / VOCABULARY).encoder


@pytest.fixture(scope="module")
def segmenter(encoder):
    pytest.importorskip("jieba", reason="needs jieba")
    return make_segmenter("jieba", encoder)


def words_of(segmenter, encoder, texts):
    """Returns the words of each text, without the marks `##` of their tokens."""
    token_ids, offsets, word_starts = segmenter(texts)
    words = []
    for start, end in itertools.pairwise(offsets):
        words.append([])
        for index, begins in zip(
            token_ids[start:end], word_starts[start:end], strict=True
        ):
            token = encoder.id_to_token(index).removeprefix("##")
            if begins:
                words[-1].append(token)
            else:
                words[-1][-1] += token
    return words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("我们在图书馆学习数学。", "我们 在 图书馆 学习 数学 。"),
        ("北京大学的学生，playing足球", "北京大学 的 学生 ， playing 足球"),
        ("2012年，他毕业于中国科学院", "2012 年 ， 他 毕业 于 中国科学院"),
        ("好", "好"),
        ("no Chinese at all", "no chinese at all"),
        ("", ""),
    ],
)
def test_golden_words(segmenter, encoder, text, words):
    assert words_of(segmenter, encoder, [text]) == [words.split()]


def test_words_end_at_unknown_characters(segmenter, encoder):
    unknown = "𠀋"
    assert encoder.encode_batch([unknown]) == [[encoder.unk_token_id]]
    (words,) = words_of(segmenter, encoder, [f"图书{unknown}馆"])
    assert words == ["图书", "[UNK]", "馆"]


def test_only_chinese_characters_change(segmenter, encoder, texts_of_words):
    texts = texts_of_words[::3]
    token_ids, offsets, word_starts = segmenter(texts)
    expected_ids, expected_offsets = encoder.encode_ragged(texts)
    np.testing.assert_array_equal(token_ids, expected_ids)
    np.testing.assert_array_equal(offsets, expected_offsets)
    assert word_starts.dtype == bool
    vocabulary = encoder.get_vocabulary()
    is_chinese = np.array([bool(re.fullmatch(CHINESE, token)) for token in vocabulary])
    changed = word_starts != encoder.word_starts[token_ids]
    assert is_chinese[token_ids[changed]].all()
    # Chinese text has about two words for three characters.
    assert 0.3 < changed.sum() / is_chinese[token_ids].sum() < 0.5
    # The first token of a text begins a word.
    assert word_starts[offsets[:-1][np.diff(offsets) > 0]].all()


FRESH = """
import sys
from albert_keras.tokenizers import WordPieceEncoder
from albert_keras.pretraining.segmentation import make_segmenter

vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "图", "书", "馆"]
segmenter = make_segmenter("jieba", WordPieceEncoder(vocabulary, lowercase=True))
assert segmenter(["图书馆"])[2].tolist() == [True, False, False]
assert "tensorflow" not in sys.modules and "keras" not in sys.modules
"""


def run(script, temporary):
    environment = {**os.environ, "TMPDIR": str(temporary)}
    command = [sys.executable, "-W", "error", "-c", script]
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True
    )


def test_jieba_writes_no_output_and_no_files(segmenter, tmp_path):
    done = run(FRESH, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


def test_without_jieba(tmp_path):
    done = run(f"import sys\nsys.modules['jieba'] = None\n{FRESH}", tmp_path)
    assert done.returncode == 1
    message = 'ImportError: .*`jieba`.*pip install "albert_keras\\[chinese\\]"'
    assert re.search(message, done.stderr)


def test_another_encoder(shared):
    encoder = AlbertTokenizer(shared / "data/tokenizers/30k-clean.model").encoder
    with pytest.raises(ValueError, match="Received: a SentencePieceEncoder. Leave"):
        make_segmenter("jieba", encoder)
