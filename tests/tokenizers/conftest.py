"""Texts for the tests: real lines of all corpora, and difficult strings."""

import json

import pytest

LINES_PER_FILE = 200

# Each fragment is tested alone, inside a word, between words and doubled.
FRAGMENTS = [
    *("", " ", "\t", "\n", "\r\n", "\x0b", "\x1c", "\x85", "\xa0", "\u2003", "\u2028"),
    *("\u3000", "\u200b", "\u200d", "\ufeff", "\xad", "\u034f", "\0", "\x01", "\x7f"),
    *("\ufffd", "\u202e", "e\u0301", "\u0301", "q\u0323\u0307", "İ", "ı", "ß", "ẞ"),
    *("ΟΔΟΣ", "Σ", "ﬁ", "Ａ１", "½", "¨", "…", "℃", "①", "Å", "🙂"),
    *("👩\u200d👩\u200d👧", "🇩🇪", "𝔘𝔫𝔦", "𠀋", "你好，世界。", "が\u3099"),
    *("한국어", "\u1112\u1161\u11ab", "ﾊﾝｶｸ"),
    *("हिन्दी", "שָׁלוֹם", "العَرَبِيَّة", "ไทย", "``", "''", "[MASK]", "▁", "a▁"),
    *("▁a", "<unk>", "888", "!!!!!", "~~^", "Σ'a", "(2,000).", "\ufdd0", "ﷺ", "x" * 20),
    *("é" * 40, "[CLS]"),
]
TEMPLATES = ["{0}", "ab{0}Cd", " I am {0} here ", "{0}{0}"]
LONERS = [
    "I was born in 92000, and this is false.",
    "9,9",
    "1,000,000, 2,000, and 3,",
    "In 2012, 2013,2014,x 12/12, 07/11,.",
    "٣, ², ४,",
    ",",
    "a,b",
    "Die Straße führt über 2.012, Häuser; 12/12, 05/06,",
    "Größere Änderungen: ÄÖÜ äöü",
    "'s 's' don’t “quoted” ‘x’",
    "--- -- – — ― ---",
    "$5.00 £3 €4 100%",
    "x" * 3000,
    "word " * 900,
    "Ünïcödé " * 200,
    "http://example.org/a?b=c&d=e#f",
    "def f(x): return x ** 2  # 4",
    "\u202eabc\u202c def",
    "ǅ ǆ Ǆ ŀ ŉ",
    "ΑΣ ΑΣ. ΑΣΑ Σ",
]


@pytest.fixture(scope="session")
def corpus_lines(shared):
    """Lines of every corpus, the same number of each: English, Chinese, word-split."""
    lines = []
    for path in sorted((shared / "data/corpora").glob("*/*")):
        if path.suffix == ".jsonl":
            with path.open(encoding="utf-8") as file:
                texts = (json.loads(document)["text"] for document in file)
                candidates = [line for text in texts for line in text.split("\n")]
        elif path.suffix == ".txt":
            candidates = path.read_text(encoding="utf-8").split("\n")
        else:
            continue
        candidates = [line for line in candidates if line.strip()]
        lines += candidates[:: len(candidates) // LINES_PER_FILE or 1][:LINES_PER_FILE]
    return lines


@pytest.fixture(scope="session")
def stress_texts():
    """Strings with difficult Unicode characters."""
    return [t.format(f) for f in FRAGMENTS for t in TEMPLATES] + LONERS


@pytest.fixture(scope="session")
def texts(corpus_lines, stress_texts):
    """Both, without two addresses of 51,000 characters in one line each.

    There the sums of scores are so large that rounding differs between the graph and
    Python, in the German model.
    """
    return [line for line in corpus_lines if len(line) < 50_000] + stress_texts


@pytest.fixture(scope="session")
def texts_of_words(corpus_lines, stress_texts):
    """Texts whose words repeat and touch, for encoders that encode word by word."""
    in_rows = [" ".join(stress_texts[n : n + 17]) for n in range(0, 999, 17)]
    glued = ["".join(stress_texts[n::29]) for n in range(29)]
    with_nul = ["a\0b", "\0", "a \0 b", "ab\0", "ab"]
    return corpus_lines[::15] + stress_texts[::3] + in_rows + glued + with_nul
