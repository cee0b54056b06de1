"""The C++ example is built as its page says, and answers as Python does."""

import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

from albert_keras.export import export_saved_model, load_exported
from albert_keras.models import AlbertTextClassifier
from tests.tasks.task_checks import make_backbone, make_tokenizer

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "c"
TEXTS = ["The baker counts storms.", "", "中文 unknown Ω"]


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("g++"), reason="there is no compiler")
def test_the_program_gives_the_labels_of_python(tmp_path):
    classifier = AlbertTextClassifier(
        make_backbone(), 3, labels=["bleak", "good", "dull"]
    )
    export_saved_model(classifier, tmp_path / "model", make_tokenizer())
    expected = load_exported(tmp_path / "model").predict(TEXTS)

    for name in ("Makefile", "predict.cc"):
        shutil.copy(EXAMPLE / name, tmp_path)
    # What it computes is TensorFlow's: it need not be optimized.
    make = ["make", "--silent", f"--directory={tmp_path}", f"PYTHON={sys.executable}"]
    subprocess.run([*make, "CXX=g++ -O0"], check=True)
    run = {"capture_output": True, "text": True, "check": True}
    operations = subprocess.run([*make, "operations"], **run).stdout.split()
    words = [tmp_path / "predict", tmp_path / "model", *operations, "--", *TEXTS]
    rows = subprocess.run(words, **run).stdout.splitlines()
    outputs = [dict(output.split(": ") for output in row.split("\t")) for row in rows]
    assert [row["label"] for row in outputs] == expected["label"].tolist()
    logits = [[*map(float, row["logits"].split())] for row in outputs]
    assert np.abs(np.array(logits) - expected["logits"]).max() < 1e-5

    wrong = subprocess.run(
        [*words[:1], tmp_path, "--", "a"], capture_output=True, text=True
    )
    assert wrong.returncode == 1
    assert "Could not find SavedModel" in wrong.stderr
