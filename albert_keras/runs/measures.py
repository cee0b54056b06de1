"""Pretrained runs of any sentence task, measured on one set of rows or continued."""

from albert_keras.converters import load_checkpoint, save_checkpoint
from albert_keras.files import read_json
from albert_keras.models import AlbertPretrainer
from albert_keras.pretraining import PretrainingTask
from albert_keras.tokenizers import load_tokenizer

# Objectives whose first classes are in order and swapped.
ORDERS = ("sop", "ternary")


def measure_pretrained(run, data, *, pairs=True, config=None, batch_size=32):
    """Measures a pretraining run on held-out rows of any sentence task.

    Args:
        run: path of the run.
        data: Held-out data, see `pretraining_validation_dataset`.
        pairs: bool. Whether the rows are pairs in order or swapped, so that the accuracy
            of their order is measured where the model learned it.
        config: `PretrainingDataConfig` of a token store, or None for its own.
        batch_size: int. Rows of a batch.

    Returns:
        Dict as of `PretrainingTask.evaluate`, with the accuracy of two classes.
    """
    trained = load_checkpoint(run)
    learned = read_json(run / "run.json")["examples"]["sentence_pairs"]
    knows_order = pairs and learned in ORDERS
    model = _with_pair_classes(trained, 2 if knows_order else 0)
    if knows_order:
        kernel, bias = trained.pair_head.get_weights()
        model.pair_head.set_weights([kernel[:, :2], bias[:2]])
    task = PretrainingTask("sop" if knows_order else "none")
    return task.evaluate(model, data, batch_size, config=config)


def save_without_pairs(checkpoint, folder):
    """Writes a pretrained model without its head of sentence pairs, for a fair start.

    Else runs of the checkpoint's own sentence task would begin with a trained head, and
    others with a new one.

    Args:
        checkpoint: str or path of a pretrained model with a vocabulary.
        folder: path to write.
    """
    model = _with_pair_classes(load_checkpoint(checkpoint), 0)
    save_checkpoint(model, folder, tokenizer=load_tokenizer(checkpoint))


def _with_pair_classes(trained, num_classes):
    """Returns a pretrainer with another head of sentence pairs, which is new."""
    model = AlbertPretrainer(trained.backbone, num_classes)
    model.mlm_head.set_weights(trained.mlm_head.get_weights())
    return model
