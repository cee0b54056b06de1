"""TensorBoard scalars of a training: training and held-out curves, trust ratios."""

import pathlib


class TensorBoardScalars:
    """Writes log entries as TensorBoard scalars; needs TensorFlow on every backend.

    Two folders, `train` and `validation`, use the same tags, so TensorBoard draws both in
    one chart. After a resume, it shows the repeated steps twice. Optimizers with trust
    ratios, such as `Lamb`, add one scalar per variable, `trust_ratio/<variable>`.
    """

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.writers = {}

    def write(self, entry, model):
        """Writes an entry, and for training entries the trust ratios of the model."""
        import tensorflow as tf

        scalars = {k: v for k, v in entry.items() if k not in ("step", "seconds")}
        held_out = {k[4:]: v for k, v in scalars.items() if k.startswith("val_")}
        kind = "validation" if held_out else "train"
        if kind not in self.writers:
            path = str(self.folder / kind)
            self.writers[kind] = tf.summary.create_file_writer(path)
        with self.writers[kind].as_default(step=entry["step"]):
            for tag, value in (held_out or scalars | _trust_ratios(model)).items():
                tf.summary.scalar(tag, value)
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
