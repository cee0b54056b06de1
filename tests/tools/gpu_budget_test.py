"""The hour of a GPU, spent on the processor by a tiny model, without TensorFlow."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from albert_keras import cli, sample
from albert_keras.system.files import write_json
from tools.gpu_budget import BATCH_SIZES

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
PHASES = [
    "num_steps=1,batch_size=3,num_layers=1,sequence_length=17,masking=token",
    "num_steps=1,batch_size=2",
]


@pytest.fixture(scope="module")
def pack(tmp_path_factory):
    """The folder of token ids and vocabulary that a GPU machine gets."""
    pack = tmp_path_factory.mktemp("pack")
    text, vocabulary = pack / "text.txt", pack / "vocabulary.model"
    text.write_text("\n\n".join(sample.CORPUS.read_text("utf-8").split("\n\n")[:37]))
    words = f"train-vocabulary {text} --vocabulary-size 300 --output {vocabulary}"
    assert cli.main(words.split()) == 0
    words = f"""prepare-data {text} --tokenizer {vocabulary} --workers 1
        --sequence-length 29 --validation-split 0.2 --output {pack / "tokens"}"""
    assert cli.main(words.split()) == 0
    return pack


def run(tool, pack, results, seconds, folder):
    """Runs a tool where TensorFlow cannot be imported."""
    blocked = folder / "blocked"
    blocked.mkdir(exist_ok=True)
    (blocked / "sitecustomize.py").write_text(
        "import sys; sys.modules.update(dict.fromkeys(['tensorflow', 'tensorflow_text']))"
    )
    environment = {
        **os.environ,
        "PATH": f"{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(blocked),
        "PARTS": str(folder / "parts"),
    }
    environment.pop("KERAS_BACKEND", None)
    command = [TOOLS / tool, pack, results, str(seconds), "--tiny"]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def measured(results):
    """Puts there what takes long to measure."""
    for preset in BATCH_SIZES:
        content = {"preset": preset, "seconds": 7.0}
        write_json(results / f"speed-{preset}.json", content)
    write_json(results / "phases.json", {"phases": PHASES, "seconds": 41.0})


@pytest.mark.slow
def test_an_hour_is_spent_without_tensorflow(pack, tmp_path):
    pytest.importorskip("jax")
    results = tmp_path / "results"
    results.mkdir()
    measured(results)
    done = run("gpu_hour.sh", pack, results, 0, tmp_path)
    assert done.returncode == 0, done.stderr
    lines = map(json.loads, (results / "results.jsonl").read_text().splitlines())
    *speeds, phases, report = lines
    assert {speed["preset"] for speed in speeds} == {*BATCH_SIZES}
    assert phases == {"phases": PHASES}
    assert 0 < report["scores"]["mlm_loss"] < 20
    # What another machine would go on from.
    parts = b"".join(p.read_bytes() for p in sorted((tmp_path / "parts").iterdir()))
    listed = subprocess.run(["tar", "t"], input=parts, capture_output=True, check=True)
    checkpoints = [n for n in listed.stdout.decode().split() if n.endswith(".npz")]
    assert checkpoints == ["./run/checkpoints/step-00000002.npz"]
