"""The log of a run for TensorBoard: training and held-out curves, trust ratios."""

import pathlib

from albert_keras.checks import import_optional


class TensorBoardScalars:
    """Writes entries of the log as scalars, each of training with its held-out one.

    Into two folders, `train` and `validation`, under the same tags, so that TensorBoard
    draws them in one picture; and for optimizers that tell, as `Lamb`, the trust ratio
    of each layer as `trust_ratio/<variable>`.

    Args:
        folder: str or path.
        last_step: int. Step that the run goes on from: TensorBoard drops what older
            files in the folder say of later ones.

    Raises:
        ImportError: If TensorBoard, the extra `tensorboard`, is not installed.
    """

    def __init__(self, folder, last_step=0):
        self.folder = pathlib.Path(folder)
        self.last_step = last_step
        self.files = {}
        self._import("event_pb2")

    def write(self, entry, model):
        """Writes an entry, and the model's trust ratios with those of training."""
        scalars = {k: v for k, v in entry.items() if k not in ("step", "seconds")}
        held_out = {k[4:]: v for k, v in scalars.items() if k.startswith("val_")}
        if held_out:
            self._add("validation", held_out, entry["step"])
        else:
            scalars.update(_trust_ratios(model.optimizer))
            self._add("train", scalars, entry["step"])

    def close(self):
        """Writes out what is buffered."""
        for file in self.files.values():
            file.close()

    def _add(self, kind, scalars, step):
        event = self._import("event_pb2").Event(step=step)
        for tag, value in scalars.items():
            event.summary.value.add(tag=tag, simple_value=value)
        self._file(kind).add_event(event)
        self._file(kind).flush()

    def _file(self, kind):
        if kind not in self.files:
            module = import_optional(
                "tensorboard.summary.writer.event_file_writer", "tensorboard"
            )
            self.files[kind] = module.EventFileWriter(str(self.folder / kind))
            proto = self._import("event_pb2")
            start = proto.SessionLog(status=proto.SessionLog.START)
            self.files[kind].add_event(
                proto.Event(step=self.last_step + 1, session_log=start)
            )
        return self.files[kind]

    def _import(self, name):
        return import_optional(f"tensorboard.compat.proto.{name}", "tensorboard")


def _trust_ratios(optimizer):
    # The one that scales losses wraps the one that knows.
    optimizer = getattr(optimizer, "inner_optimizer", optimizer)
    ratios = getattr(optimizer, "trust_ratios", dict)()
    return {f"trust_ratio/{path}": ratio for path, ratio in ratios.items()}
