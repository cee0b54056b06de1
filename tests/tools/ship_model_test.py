"""The tool that creates a shipped model's folder from a run: card, figures, checksums."""

import json
import subprocess

import pytest

from albert_keras.models import AlbertBackbone, AlbertPretrainer
from tests.helpers import max_difference
from tests.tasks.task_checks import make_tokenizer
from tools.ship_model import main

SOURCES = ("squad_wikipedia", "us_inaugural", "python_peps")
EVALUATION = {
    **{"mlm_loss": 4.5678, "mlm_accuracy": 0.281, "sop_accuracy": 0.731},
    **{"sop_accuracy_95_margin": 0.022, "unigram_loss": 6.789, "trigram_loss": 5.4321},
    **{"num_examples": 1801, "num_predictions": 33248},
}
PHASES = (
    "num_steps=30,batch_size=5,num_layers=1,sequence_length=7,masking=token",
    "num_steps=20,batch_size=7",
)
CONFIG = {
    "training": {"optimizer": "adamw", "precision": "mixed_bfloat16"},
    "batch_size": 5,
    "num_steps": 50,
    "phases": PHASES,
}


def comparison(pretrained, random):
    tasks = {
        start: {
            "scores": scores,
            "mean": sum(scores) / len(scores),
            "command": f"from {start}",
        }
        for start, scores in (("pretrained", pretrained), ("random", random))
    }
    return {**tasks, "metric": "accuracy", "linear": 0.625}


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content) + "\n")


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """Where a model was pretrained: a run, what it was measured at, and its text."""
    work = tmp_path_factory.mktemp("work")
    backbone = AlbertBackbone.from_config_preset("albert_test", dtype="mixed_bfloat16")
    model = AlbertPretrainer(backbone)
    model.save_to_preset(str(work / "run" / "model"))
    make_tokenizer().save_to_preset(str(work / "run" / "model"))
    data_config = {"masked_rate": 0.15, "masking": "ngram", "max_ngram": 3}
    data_config["sequence_length"] = 19
    description = {"version": 2, "kind": "pretraining", "config": CONFIG}
    description["schedule"] = {"learning_rate": 0.003, "warmup_steps": 3}
    description["examples"] = data_config
    write(work / "run/run.json", {**description, "data": str(work / "tokens")})
    write(work / "run/log.jsonl", {"step": 49, "seconds": 7.0, "loss": 4.25})
    report = {"num_corpus_tokens": 1000}
    write(work / "tokens/dataset.json", {"config": data_config, "report": report})
    write(work / "held.json", EVALUATION)
    write(work / "other.json", EVALUATION | {"mlm_loss": 5.4321})
    speed = {"cases": {"1 x texts": {"litert_int8": {"median": 0.4567}}}}
    write(work / "speed.json", speed)
    tasks = {"sst-2": comparison([0.81, 0.83], [0.77, 0.78])}
    write(work / "sst2.json", {"tasks": tasks})
    write(work / "rte.json", {"tasks": {"rte": comparison([0.5], [0.75])}})
    for size, source in enumerate(SOURCES, start=2):
        lines = [json.dumps({"text": "é" * size})] * size
        (work / f"train_{source}.jsonl").write_text("\n".join(lines) + "\n")
    write(work / "held_us_inaugural.jsonl", {"text": "held"})
    return work, model.get_weights()


WORDS = ["albert_nano_en", "--run", "run", "--text", ".", "--note", "It was cut short."]
WORDS += ["--evaluation", "held.json", "--other-text", "other.json"]
WORDS += ["--speed", "speed.json"]


def test_folder_has_the_model_and_every_figure(work, tmp_path, monkeypatch):
    folder, weights = work
    output = tmp_path / "albert_nano_en"
    monkeypatch.chdir(folder)
    main([*WORDS, "--output", str(output)])
    restored = AlbertPretrainer.from_preset(output)
    assert restored.backbone.compute_dtype == "float32"
    assert max_difference(restored.get_weights(), weights) == 0.0
    card = (output / "README.md").read_text("utf-8")
    assert "| masked-word loss, nats | **4.568** | 5.432 |" in card
    assert "vector of one sentence of SST-2 in 0.46 ms on one core" in card
    # Of the speeches 3 documents of 3 characters, and 1 held out.
    assert "presidents | public domain | 3 | 9 | 1 |" in card
    assert "| 7 x 19 | all | 15%, ngram of up to 3 words | 20 | 2,660 |" in card
    results = json.loads((output / "results.json").read_text("utf-8"))
    # 30 steps of 5 rows of 7 positions, then 20 of 7 rows of 19.
    assert results["pretraining"]["num_positions"] == 3710
    assert results["pretraining"]["num_epochs"] == 3.71
    assert results["parameters"]["with_heads"] == restored.count_params()

    comparisons = ["--comparisons", "sst2.json", "rte.json"]
    main(["albert_nano_en", *comparisons, "--output", str(output)])
    card = (output / "README.md").read_text("utf-8")
    assert "| sst-2 | accuracy | 81.0 83.0 | 77.0 78.0 | +4.5 | 62.5 |" in card
    sums = [line for line in card.splitlines() if line[64:66] == "  "]
    assert len(sums) == sum(path.is_file() for path in output.rglob("*")) - 1
    check = ["sha256sum", "--check", "--strict", "--quiet"]
    subprocess.run(check, input="\n".join(sums), text=True, cwd=output, check=True)
