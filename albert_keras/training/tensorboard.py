"""TensorBoard scalars of a training: training and held-out curves, trust ratios."""

import pathlib


class TensorBoardScalars:
    """Writes log entries as TensorBoard scalars; needs TensorFlow on every backend.

    Two folders, `train` and `validation`, use the same tags, so TensorBoard draws both in
    one chart. It does not show the steps after `last_step` of older files, because a
    resumed training repeats them. Optimizers with trust ratios, such as `Lamb`, add one
    scalar per variable, `trust_ratio/<variable>`.
    """

    def __init__(self, folder, last_step=0):
        self.folder = pathlib.Path(folder)
        self.last_step = last_step
        self.writers = {}

    def write(self, entry, model):
        """Writes an entry, and for training entries the trust ratios of the model."""
        import tensorflow.compat.v1 as tf

        scalars = {k: v for k, v in entry.items() if k not in ("step", "seconds")}
        held_out = {k[4:]: v for k, v in scalars.items() if k.startswith("val_")}
        kind = "validation" if held_out else "train"
        if kind not in self.writers:
            path = str(self.folder / kind)
            # Files are read in the order of their names, which begin with the second.
            suffix = f".{self.last_step:08}"
            # The only writer of session logs, and it needs a graph.
            with tf.Graph().as_default():
                self.writers[kind] = tf.summary.FileWriter(path, filename_suffix=suffix)
            start = tf.SessionLog(status=tf.SessionLog.START)
            self.writers[kind].add_session_log(start, self.last_step + 1)
        values = [
            tf.Summary.Value(tag=tag, simple_value=value)
            for tag, value in (held_out or scalars | _trust_ratios(model)).items()
        ]
        self.writers[kind].add_summary(tf.Summary(value=values), entry["step"])
        self.writers[kind].flush()

    def close(self):
        """Closes the files."""
        for writer in self.writers.values():
            writer.close()


def _trust_ratios(model):
    # Loss scaling wraps the optimizer that has trust ratios.
    optimizer = getattr(model.optimizer, "inner_optimizer", model.optimizer)
    ratios = getattr(optimizer, "trust_ratios", dict)()
    return {f"trust_ratio/{path}": ratio for path, ratio in ratios.items()}
