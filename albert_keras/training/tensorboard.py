"""TensorBoard scalars of a training: training and held-out curves, trust ratios."""

import pathlib


class TensorBoardScalars:
    """Writes log entries as TensorBoard scalars; needs TensorFlow on every backend.

    Two folders, `train` and `validation`, use the same tags, so TensorBoard draws both in
    one chart. It ignores steps after `last_step` in older files. Optimizers with trust
    ratios, such as `Lamb`, add one scalar per variable, `trust_ratio/<variable>`.
    """

    def __init__(self, folder, last_step=0):
        self.folder = pathlib.Path(folder)
        self.last_step = last_step
        self.writers = {}

    def write(self, entry, model):
        """Writes an entry, and for training entries the trust ratios of the model."""
        scalars = {k: v for k, v in entry.items() if k not in ("step", "seconds")}
        held_out = {k[4:]: v for k, v in scalars.items() if k.startswith("val_")}
        if held_out:
            self._add("validation", held_out, entry["step"])
        else:
            scalars.update(_trust_ratios(model.optimizer))
            self._add("train", scalars, entry["step"])

    def close(self):
        """Writes buffered scalars and closes the files."""
        for writer in self.writers.values():
            writer.close()

    def _add(self, kind, scalars, step):
        from tensorflow.compat import v1 as tf

        values = [
            tf.Summary.Value(tag=tag, simple_value=value)
            for tag, value in scalars.items()
        ]
        writer = self.writers.get(kind) or self._open(kind)
        writer.add_summary(tf.Summary(value=values), step)
        writer.flush()

    def _open(self, kind):
        from tensorflow.compat import v1 as tf

        # Only this writer has session logs, which make TensorBoard drop repeated steps.
        # It can only be created in a graph.
        with tf.Graph().as_default():
            writer = tf.summary.FileWriter(str(self.folder / kind))
        start = tf.SessionLog(status=tf.SessionLog.START)
        writer.add_session_log(start, self.last_step + 1)
        self.writers[kind] = writer
        return writer


def _trust_ratios(optimizer):
    # Loss scaling wraps the optimizer that has trust ratios.
    optimizer = getattr(optimizer, "inner_optimizer", optimizer)
    ratios = getattr(optimizer, "trust_ratios", dict)()
    return {f"trust_ratio/{path}": ratio for path, ratio in ratios.items()}
