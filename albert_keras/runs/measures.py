"""Held-out losses of pretrained runs of any sentence task, on one set of rows."""

from albert_keras.converters import load_checkpoint
from albert_keras.files import read_json
from albert_keras.models import AlbertPretrainer
from albert_keras.pretraining import PretrainingTask

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
    model = AlbertPretrainer(trained.backbone, 2 if knows_order else 0)
    model.mlm_head.set_weights(trained.mlm_head.get_weights())
    if knows_order:
        kernel, bias = trained.pair_head.get_weights()
        model.pair_head.set_weights([kernel[:, :2], bias[:2]])
    task = PretrainingTask("sop" if knows_order else "none")
    return task.evaluate(model, data, batch_size, config=config)
