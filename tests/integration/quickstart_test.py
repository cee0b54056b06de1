"""The main job, whole and offline: what the README's first command ends with."""

import json
import subprocess
import sys

import pytest

OFFLINE = """
import socket, sys
def refuse(*arguments):
    raise OSError("The quick start must not use the network.")
socket.socket.connect = socket.create_connection = refuse
from albert_keras.cli import main
sys.exit(main(["quickstart", "--json", "--output", sys.argv[1]]))
"""


@pytest.mark.slow
def test_quickstart_learns_exports_and_predicts(tmp_path):
    output = tmp_path / "quickstart"
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE, output], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    unigrams, trigrams = (results[f"mlm_loss_of_{n}grams"] for n in ("uni", "tri"))
    assert trigrams < unigrams - 0.4
    assert results["mlm_loss"] < unigrams - 0.25
    # 80 % less the interval of 490 pairs: 81 to 86 were seen with different rounding.
    assert results["sop_accuracy"] > 0.76
    assert results["classifier_accuracy"] > 0.65
    assert results["classifier_accuracy_from_albert_nano_en"] > 0.75
    assert results["classifier_accuracy_of_majority"] == 0.5
    # Loading them again in this process is the exports' own tests.
    assert (output / "saved_model" / "saved_model.pb").is_file()
    assert (output / "reviews_int8.tflite").stat().st_size < 1_800_000
    expected = ["positive", "negative"]
    for name in ("saved_model", "tflite_int8"):
        assert list(results["predictions"][name].values()) == expected


def test_output_that_holds_something_is_refused(tmp_path):
    (tmp_path / "mine.txt").write_text("precious")
    command = [sys.executable, "-m", "albert_keras", "quickstart", "--output", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "must be new or empty" in done.stderr
    assert (tmp_path / "mine.txt").read_text() == "precious"
