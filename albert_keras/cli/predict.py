"""Label texts with a `finetune` run, a SavedModel or a TFLite file.

examples:
  albert-keras predict runs/sst2 "a charming journey" "bleak and desperate"
  albert-keras predict sst2.tflite --input reviews.txt --json
"""

import pathlib

import keras
import numpy as np

from albert_keras.cli.results import print_results
from albert_keras.cli.run_folder import load_classifier
from albert_keras.data import read_lines
from albert_keras.export import is_exported, load_predictor


def add_arguments(parser):
    parser.add_argument("model", help="run folder, SavedModel folder or .tflite file")
    parser.add_argument("texts", nargs="*", help="texts to label")
    parser.add_argument("--input", help="file with a text a line")


def run(arguments):
    texts = list(arguments.texts)
    if arguments.input:
        # Blank lines too: the output has a row for each line.
        texts += [line.strip() for line in read_lines(arguments.input)]
    if not texts:
        raise ValueError(
            "There must be a text to label. Received: none. "
            "Give texts after the model, or a file by `--input`."
        )
    outputs = predict(arguments.model, texts)
    if "logits" not in outputs:
        raise ValueError(
            "The model must be a classifier, which gives logits. "
            f"Received: '{arguments.model}', which gives {', '.join(outputs)}."
        )
    predictions = [
        {
            "text": text,
            **{name: values[row].tolist() for name, values in outputs.items()},
        }
        for row, text in enumerate(texts)
    ]
    if arguments.json:
        print_results("", {"predictions": predictions}, as_json=True)
        return
    for row in predictions:
        probability = max(row.get("probabilities", row["logits"]))
        print(f"{row.get('label', '')}\t{probability:.4f}\t{row['text']}")


def predict(path, texts):
    """Returns the outputs of whatever stands at `path`, a dict of arrays."""
    if not pathlib.Path(path).exists():
        raise FileNotFoundError(
            "The model must be a run folder, a SavedModel folder or a .tflite file. "
            f"Received: '{path}', where there is nothing."
        )
    if is_exported(path):
        return load_predictor(path).predict(texts)
    return predict_with_run(path, texts)


def predict_with_run(folder, texts):
    model, labels = load_classifier(folder)
    logits = model.predict(texts, verbose=0)
    probabilities = keras.ops.convert_to_numpy(keras.ops.softmax(logits))
    names = np.array(labels)[probabilities.argmax(-1)]
    return {"logits": logits, "probabilities": probabilities, "label": names}
