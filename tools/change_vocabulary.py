#!/usr/bin/env python3
"""Gives a shipped model another SentencePiece vocabulary without training it anew.

Pieces of both vocabularies keep their embeddings and biases. Each new piece has the mean
of the old pieces that its text is cut into, as in Gee et al. 2022 (Fast Vocabulary
Transfer). The output is a checkpoint for `pretrain`, with the log and the figures of the
shipped model.

example:
  tools/change_vocabulary.py saved_models/albert_mini_en vocab16.model widened
"""

import pathlib
import shutil
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from albert_keras import load_checkpoint, load_tokenizer, save_checkpoint
from albert_keras.converters import resize_vocabulary
from albert_keras.tokenizers.sentence_piece_model import load_processor, parse_model
from tools.parser import new_parser


def main(argv=None):
    """Writes the checkpoint."""
    parser = new_parser(__doc__)
    parser.add_argument("shipped", type=pathlib.Path, help="folder of `ship_model.py`")
    parser.add_argument("vocabulary", help="SentencePiece model")
    parser.add_argument("output", type=pathlib.Path, help="folder")
    arguments = parser.parse_args(argv)
    tokenizer = load_tokenizer(arguments.vocabulary)
    model = load_checkpoint(arguments.shipped, head="pretraining")
    cuts = old_pieces(model.preprocessor.tokenizer, tokenizer)
    resized = resize_vocabulary(model, len(cuts))
    for variable, old in zip(tables(resized), tables(model), strict=True):
        old = old.numpy()
        variable.assign(np.stack([old[cut].mean(axis=0) for cut in cuts]))
    save_checkpoint(resized, arguments.output, tokenizer=tokenizer)
    for name in ("results.json", "log.jsonl"):
        shutil.copy(arguments.shipped / name, arguments.output)


def tables(model):
    """Returns the variables with a row for each piece."""
    paths = ("token_embedding/embeddings", "mlm/output_bias")
    return [each for each in model.weights if each.path.endswith(paths)]


def old_pieces(old_tokenizer, new_tokenizer):
    """Returns the ids of the old pieces in the text of each new piece."""
    model = parse_model(old_tokenizer.encoder.proto)
    # A piece begins with a space only if its text does.
    model.normalizer_spec.add_dummy_prefix = False
    model.normalizer_spec.remove_extra_whitespaces = False
    processor = load_processor(model.SerializeToString())
    old_ids = {piece: id for id, piece in enumerate(old_tokenizer.get_vocabulary())}
    return [
        [old_ids[piece]] if piece in old_ids else processor.encode(piece)
        for piece in new_tokenizer.get_vocabulary()
    ]


if __name__ == "__main__":
    main()
