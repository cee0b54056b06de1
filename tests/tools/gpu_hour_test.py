"""The hour of a GPU, spent on the processor by a tiny model, without TensorFlow."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from albert_keras import cli, sample

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "gpu_hour.sh"
PHASES = """\
num_steps=1,batch_size=3,num_layers=1,sequence_length=17,masking=token
num_steps=1,batch_size=2
"""
TINY = "--hidden-dim 24 --num-heads 2 --num-layers 2 --precision float32"


@pytest.fixture
def pack(tmp_path):
    """The folder of token ids and vocabulary that a GPU machine gets."""
    pack = tmp_path / "pack"
    pack.mkdir()
    text, vocabulary = pack / "text.txt", pack / "vocabulary.model"
    text.write_text("\n\n".join(sample.CORPUS.read_text("utf-8").split("\n\n")[:37]))
    words = f"train-vocabulary {text} --vocabulary-size 300 --output {vocabulary}"
    assert cli.main(words.split()) == 0
    words = f"""prepare-data {text} --tokenizer {vocabulary} --workers 1
        --sequence-length 29 --validation-split 0.2 --output {pack / "tokens"}"""
    assert cli.main(words.split()) == 0
    return pack


@pytest.mark.slow
def test_an_hour_is_spent_without_tensorflow(pack, tmp_path):
    pytest.importorskip("jax")
    results, blocked = tmp_path / "results", tmp_path / "blocked"
    for folder in (results, blocked):
        folder.mkdir()
    # What takes long to measure.
    for preset in ("albert_base_v2", "albert_xxlarge_v2"):
        (results / f"speed-{preset}.json").write_text(f'{{"preset": "{preset}"}}\n')
    (results / "phases.txt").write_text(PHASES)
    (blocked / "sitecustomize.py").write_text(
        "import sys; sys.modules.update(dict.fromkeys(['tensorflow', 'tensorflow_text']))"
    )
    environment = {
        **os.environ,
        "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(blocked),
        "PARTS": str(tmp_path / "parts"),
    }
    environment.pop("KERAS_BACKEND", None)
    command = [TOOL, pack, results, "0", *TINY.split()]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    report = json.loads((results / "run" / "report.json").read_text())
    assert 0 < report["scores"]["mlm_loss"] < 20
    # The files that another machine resumes from.
    parts = b"".join(p.read_bytes() for p in sorted((tmp_path / "parts").iterdir()))
    listed = subprocess.run(["tar", "t"], input=parts, capture_output=True, check=True)
    checkpoints = [n for n in listed.stdout.decode().split() if n.endswith(".npz")]
    assert checkpoints == ["./run/checkpoints/step-00000002.npz"]
    # A call whose time is over stops with the status that asks for another one.
    command[3] = "1"
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 75
    assert "call again to resume" in done.stderr
