#!/usr/bin/env python3
"""Measures how far an exported classifier is from its run, on real texts.

Prints the number of texts, the largest absolute difference of a logit, and how many
labels changed.

example:
  tools/experiments/compare_exported.py runs/sst2 sst2.tflite --data SST-2/dev.tsv
"""

import argparse
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from albert_keras.runs import predict_with_run


def main(argv=None):
    """Predicts with both models and prints how they differ."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", help="folder of `finetune`, of a classifier of texts")
    parser.add_argument("exported", help="SavedModel or TFLite file, or another run")
    parser.add_argument("--data", required=True, help="file of rows, as of `predict`")
    arguments = parser.parse_args(argv)
    expected = predict_with_run(arguments.run, data=arguments.data)
    texts = [
        (row["text"], row["text_pair"]) if "text_pair" in row else row["text"]
        for row in expected
    ]
    received = predict_with_run(arguments.exported, texts)
    # (num_texts, num_classes)
    logits = np.array([row["logits"] for row in expected])
    others = np.array([row["logits"] for row in received])
    num_changed = np.count_nonzero(logits.argmax(1) != others.argmax(1))
    print(
        f"{len(texts):,} texts: the largest difference of a logit is "
        f"{np.abs(logits - others).max():.2e}; {num_changed} labels changed"
    )


if __name__ == "__main__":
    main()
