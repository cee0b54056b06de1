"""The quick start: the README's first command, run offline from end to end."""

import json
import socket

import pytest

from albert_keras.cli import main


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    connect = socket.socket.connect

    def refuse(self, *arguments):
        # Forked workers are asked for through a socket of this machine.
        if getattr(self, "family", None) != socket.AF_UNIX:
            raise OSError("The quick start must not use the network.")
        connect(self, *arguments)

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)


@pytest.mark.slow
def test_quickstart_learns_exports_and_predicts(tmp_path, capsys):
    output = tmp_path / "quickstart"
    # A fifteenth and a quarter of the defaults, which take two minutes more.
    steps = ["--pretraining-steps", "60", "--num-epochs", "5"]
    assert main(["quickstart", "--json", "--output", str(output), *steps]) == 0
    results = json.loads(capsys.readouterr().out)
    # By then neither words of the context nor orders are learned, but frequencies are,
    # which give 5.2: one of 800 pieces without them is 6.7.
    assert results["mlm_loss"] < 5.7
    # So short a pretraining helps no classifier: the one from the shipped model learns.
    for name in ("sop_accuracy", "classifier_accuracy"):
        assert 0.4 < results[name] <= 1
    assert results["classifier_accuracy_from_albert_nano_en"] > 0.75
    assert results["classifier_accuracy_of_majority"] == 0.5
    pictures = {"pretraining/learning_curve"}
    for run in ("reviews", "reviews_albert_nano_en"):
        pictures |= {f"{run}/learning_curve", f"{run}/confusion_matrix"}
    assert results["pictures"].keys() == pictures
    for name, path in results["pictures"].items():
        assert path == str(output / f"{name}.png")
    # The tests of the exports load such files in a new process.
    assert (output / "saved_model" / "saved_model.pb").is_file()
    assert (output / "reviews_int8.tflite").stat().st_size < 1_800_000
    expected = ["positive", "negative"]
    for name in ("saved_model", "tflite_int8"):
        assert list(results["predictions"][name].values()) == expected


def test_output_folder_with_files_is_refused(tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("precious")
    assert main(["quickstart", "--output", str(tmp_path)]) == 1
    assert "must be new or empty" in capsys.readouterr().err
    assert (tmp_path / "mine.txt").read_text() == "precious"
