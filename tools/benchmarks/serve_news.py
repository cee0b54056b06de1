#!/usr/bin/env python3
"""Fine-tunes a classifier of Chinese news titles, exports, serves and asks it.

The classifier begins with random weights and Google's Chinese vocabulary, without
pretraining: the point is the path from titles to a server's answers, with WordPiece in
the graph. Prints as JSON the accuracy of the run on the test file, the bytes of the
exported model, and of the server's answers to the first test titles how many are those
of the run and how many are right. FOLDER has `dev.txt`, which is trained on, `test.txt`,
and `class.txt` with the names of the classes.

example:
  tools/benchmarks/serve_news.py thucnews_titles --vocabulary vocab.txt --output news
"""

import argparse
import csv
import http.client
import json
import pathlib
import sys

import keras

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

import albert_keras as ak
from albert_keras.models import AlbertBackbone
from tools.benchmarks.serving import server

# Small and wide: titles are short, and two passes over 10,000 take a few minutes.
SHAPE = {
    "num_layers": 2,
    "num_heads": 4,
    "embedding_dim": 128,
    "hidden_dim": 192,
    "intermediate_dim": 384,
    "max_sequence_length": 64,
}


def main(argv=None):
    """Prints the figures as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=pathlib.Path, help="titles and their classes")
    parser.add_argument("--vocabulary", required=True, help="file of WordPiece tokens")
    parser.add_argument("--output", required=True, type=pathlib.Path)
    parser.add_argument("--num-steps", type=int, default=600)
    arguments = parser.parse_args(argv)
    make_checkpoint(arguments.output / "random", arguments.vocabulary)
    run, test = arguments.output / "run", arguments.folder / "test.txt"
    config = ak.FinetuningRunConfig(
        task="thucnews-titles",
        train=str(arguments.folder / "dev.txt"),
        checkpoint=str(arguments.output / "random"),
        tokenizer=arguments.vocabulary,
        run=str(run),
        num_steps=arguments.num_steps,
        learning_rate=1e-3,
        batch_size=32,
    )
    ak.FinetuningRun(config).fit()
    model = arguments.output / "models" / "news" / "1"
    exported = ak.runs.export_run(run, model, "serving")
    with test.open(encoding="utf-8", newline="") as file:
        rows = [*csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)][:200]
    texts = [text for text, _ in rows]
    expected = [row["label"] for row in ak.runs.predict_with_run(run, texts)]
    with server(model.parent, []) as (address, _):
        received = ask(address, texts)
    names = (arguments.folder / "class.txt").read_text("utf-8").split()
    results = {
        "accuracy": ak.runs.evaluate_run(run, test)["accuracy"],
        "bytes": exported["bytes"],
        "titles": len(texts),
        "as_the_run": sum(map(str.__eq__, received, expected)),
        "right": sum(map(str.__eq__, received, (label for _, label in rows))),
        "first": {texts[0]: names[int(received[0])]},
    }
    print(json.dumps(results, ensure_ascii=False, indent=1))


def make_checkpoint(folder, vocabulary):
    """Writes a backbone with random weights, for a vocabulary."""
    keras.utils.set_random_seed(0)
    tokenizer = ak.load_tokenizer(vocabulary)
    backbone = AlbertBackbone.from_config_preset(
        "albert_base_v2", vocabulary_size=tokenizer.vocabulary_size(), **SHAPE
    )
    backbone.save_to_preset(str(folder))


def ask(address, texts):
    """Returns the labels that a server gives to texts, one request for all."""
    host, path = address.split("/", 1)
    connection = http.client.HTTPConnection(host, timeout=60)
    body = json.dumps({"instances": texts})
    connection.request("POST", f"/{path}:predict", body)
    answer = json.loads(connection.getresponse().read())
    connection.close()
    return [row["label"] for row in answer["predictions"]]


if __name__ == "__main__":
    main()
