"""Exported models of text: one tiny backbone, and each head exported once."""

import pytest
import tensorflow as tf

from albert_keras import sample
from albert_keras.export import export_saved_model, load_exported

# Traps of text: nothing, white space, controls, NUL, characters of several code points
# and of none of the vocabulary's, from right to left, and what normalization changes.
STRANGE = [
    "",
    " \t\u3000",
    "storms\0 and\0gulls",
    "\ufeffstorms\u2028 and \x01gulls\x7f",
    "the 👩\u200d👩\u200d👧 🙂 storms",
    "שָׁלוֹם storms العَرَبِيَّة",
    "你好，the 世界。",
    "  In 2012,  THE Cafe\u0301 ﬁ Ⅷ ΟΔΟΣ \u0301 sto\u0301rms\u0301 ",
    "\u1112\u1161\u11ab한 İ ½ … q\u0323\u0307",
]

# They become several sequences; long words are cut.
LONG_SENTENCES = [
    *("storms and the gulls " * 11, "stormsgulls" * 9 + " the storms", "a " * 40),
]

# Here and in `long_context` no two parts are alike: like parts are equally good answers,
# and rounding, which differs between processors, would choose one.
STRANGE_QUESTIONS = [(text, f"the Cafe\u0301, {text}") for text in STRANGE]


def long_context(num_words):
    """Returns a context that fills several windows."""
    words = sample.CORPUS.read_text("utf-8").split()[:num_words]
    return f"In 2012,  the baker\tcounts: {' '.join(words)}"


@pytest.fixture(scope="session")
def serve(tmp_path_factory):
    """Function that exports a model; returns it loaded, and its signatures."""

    def export(model, **options):
        path = tmp_path_factory.mktemp("served") / "model"
        export_saved_model(model, path, **options)
        return load_exported(path), tf.saved_model.load(path).signatures

    return export


def approximately(expected):
    """Returns answers with numbers that compare up to rounding of float32."""
    if isinstance(expected, dict):
        return {name: approximately(value) for name, value in expected.items()}
    if isinstance(expected, (list, tuple)):
        return [approximately(value) for value in expected]
    if isinstance(expected, float):
        return pytest.approx(expected, rel=1e-4, abs=1e-5)
    return expected
