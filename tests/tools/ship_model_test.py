"""The tool that creates a shipped model's folder from a run: card, figures, checksums."""

import json
import subprocess

import pytest

from albert_keras.models import AlbertBackbone, AlbertPretrainer
from tools.ship_model import main

SOURCES = (
    "enwiki_articles",
    "gutenberg_nltk",
    "squad_wikipedia",
    "us_inaugural",
    "us_state_union",
)
EVALUATION = {
    "mlm_loss": 4.5678,
    "mlm_accuracy": 0.281,
    "sop_accuracy": 0.731,
    "sop_accuracy_95_margin": 0.022,
    "unigram_loss": 6.789,
    "trigram_loss": 5.4321,
    "num_examples": 1801,
    "num_predictions": 33248,
}
ACCURACIES = {(False, 1): 0.81, (False, 2): 0.83, (True, 1): 0.77, (True, 2): 0.78}


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content) + "\n")


def write_stage(work, run, **arguments):
    """Writes the description of a run of the model's pretraining."""
    length = arguments.pop("sequence_length", None)
    config = arguments | {
        "optimizer": "adamw",
        "jit_compile": True,
        "recipe": "two_cores",
        "text": None,
        "static": False,
        "runner_option": ["a", "b"],
        "model_options": {"dropout": 0.0},
        "data_options": {"favor_shorter": False, "sequence_length": length},
    }
    description = {"version": 2, "kind": "pretraining", "config": config}
    description["schedule"] = {"learning_rate": 0.003, "warmup_steps": 3}
    write(work / run / "run.json", {**description, "data": str(work / "tokens")})


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """Where a model was pretrained: a run, what it was measured at, and its text."""
    work = tmp_path_factory.mktemp("work")
    backbone = AlbertBackbone.from_config_preset("albert_test")
    AlbertPretrainer(backbone).save_to_preset(str(work / "run" / "model"))
    write_stage(work, "first", batch_size=5, num_steps=30, sequence_length=7)
    write_stage(work, "run", checkpoint="first", batch_size=7, num_steps=50)
    write(work / "run/log.jsonl", {"step": 49, "loss": 4.25})
    data_config = {"masked_rate": 0.15, "masking": "ngram", "max_ngram": 3}
    data_config["sequence_length"] = 19
    report = {"num_corpus_tokens": 3850}
    write(work / "tokens/dataset.json", {"config": data_config, "report": report})
    write(work / "evaluation.json", EVALUATION)
    for (random_weights, seed), accuracy in ACCURACIES.items():
        run = work / f"sst2_{random_weights}_{seed}"
        config = {"random_weights": random_weights, "seed": seed}
        description = {"version": 2, "kind": "finetuning", "config": config}
        write(run / "run.json", description)
        printed = {"run": run.name, "accuracy": accuracy}
        printed.update(majority_accuracy=0.509, num_examples=872)
        write(work / f"{run.name}.json", printed)
    for size, source in enumerate(SOURCES, start=2):
        write(work / f"held_{source}.jsonl", {"text": "held"})
        lines = [json.dumps({"text": "é" * size})] * size
        (work / f"train_{source}.jsonl").write_text("\n".join(lines) + "\n")
    return work


def words_for(*names, output):
    words = ["albert_nano_en", "--run", "run", "--text", "."]
    words += ["--evaluation", "evaluation.json", "--finetuned", *names]
    return [*words, "--note", "It was cut short.", "--output", str(output)]


def test_folder_has_the_model_and_every_figure(work, tmp_path, monkeypatch):
    output = tmp_path / "albert_nano_en"
    names = [path.name for path in work.glob("sst2_*.json")]
    monkeypatch.chdir(work)
    main(words_for(*names, output=output))
    restored = AlbertPretrainer.from_preset(output)
    assert restored.backbone.hidden_dim == 24

    card = (output / "README.md").read_text("utf-8")
    assert "| **4.568** nats |" in card
    assert "| 5.432 nats |" in card
    assert "| 73.1% ± 2.2% |" in card
    assert "| albert_nano_en | 81.0%, 83.0% | **82.0%** | 1.4% |" in card
    assert "| random weights of its shape | 77.0%, 78.0% | 77.5% | 0.7% |" in card
    # Of Wikipedia's further articles 2 documents of 2 characters, and 1 held out.
    assert "further articles | CC BY-SA | 2 | 4 | 1 |" in card
    assert f"{restored.backbone.count_params():,} parameters" in card
    assert "| 5 x 7 | 15%, ngram of up to 3 words | adamw, 0.003 | 3 | 30 |" in card
    assert "| 7 x 19 | 15%, ngram of up to 3 words | adamw, 0.003 | 3 | 50 |" in card
    assert "--run first --batch-size 5 --num-steps 30" in card
    assert "--favor-longer --sequence-length 7\n" in card
    assert "--run run --checkpoint first --batch-size 7 --num-steps 50" in card
    assert ". It was cut short.\n" in card
    assert "--optimizer adamw --jit-compile" in card
    assert "--runner-option a --runner-option b --dropout 0.0 --favor-longer" in card
    assert "--static" not in card
    # 30 steps of 5 rows of 7 positions, then 50 of 7 rows of 19.
    results = json.loads((output / "results.json").read_text("utf-8"))
    assert results["pretraining"]["num_positions"] == 7700
    assert results["pretraining"]["num_epochs"] == 2.0
    assert results["parameters"]["with_heads"] == restored.count_params()

    sums = [line for line in card.splitlines() if line[64:66] == "  "]
    assert len(sums) == sum(path.is_file() for path in output.rglob("*")) - 1
    check = ["sha256sum", "--check", "--strict", "--quiet"]
    subprocess.run(check, input="\n".join(sums), text=True, cwd=output, check=True)


def test_one_seed_is_refused(work, tmp_path, monkeypatch):
    monkeypatch.chdir(work)
    names = ["sst2_False_1.json", "sst2_True_1.json"]
    with pytest.raises(SystemExit, match="Received: 1 that are pretrained"):
        main(words_for(*names, output=tmp_path / "model"))
    assert not (tmp_path / "model").exists()
