"""Files beside the graph of an exported model: labels, tokenizer and preprocessor."""

import pathlib
import re
import struct
import typing
import zipfile
import zlib

import keras

from albert_keras.checks import check_json, shortened
from albert_keras.export import signatures
from albert_keras.export.text.kinds import task_beside, write_task
from albert_keras.models.classes import is_multi_label
from albert_keras.presets.preset_files import read_object, registered_class
from albert_keras.system.files import write_json
from albert_keras.tokenizers.base import EncoderTokenizer

LABELS_FILE = "labels.txt"
# For models whose classes may hold together.
MULTI_LABELS_FILE = "multi_labels.txt"
PREPROCESSOR_FILE = "preprocessor.json"
TOKENIZER_FILE = "tokenizer.json"

# Names of associated files that are read; other programs may add others.
_READ = re.compile(r"(assets/tokenizer/)?\w[\w-]*\.(json|txt|spm)")
# Beside a small model the vocabulary is most of a file, compressed to a third.
_LARGEST_FACTOR = 8
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# What Python raises for damaged archives.
_ZIP_ERRORS = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError),
    *(OSError, OverflowError, RuntimeError, ValueError),
)


class Exported(typing.NamedTuple):
    """An exported model: the path of the folder or file, and its bytes on disk."""

    path: pathlib.Path
    num_bytes: int


def measured(path):
    """Returns the `Exported` of a folder or file that was written."""
    path = pathlib.Path(path)
    files = [file for file in (path, *path.rglob("*")) if file.is_file()]
    return Exported(path, sum(file.stat().st_size for file in files))


def write_beside(
    folder, model, labels, task=None, preprocessor=None, *, takes_text=False
):
    """Writes what `load_beside` reads: labels, task, and the tokenizer of a model of ids.

    Args:
        folder: str or path.
        model: One of our models.
        labels: List of str, or `None`.
        task: Task of the model. Default for a model of ids: that of its preprocessor.
        preprocessor: keras-hub `Preprocessor`. Default: the model's own, if it has one.
        takes_text: bool. Whether the graph has the tokenizer.

    Raises:
        ValueError: If the model lacks embeddings for some tokens of the tokenizer.
    """
    folder = pathlib.Path(folder)
    folder.mkdir(exist_ok=True)
    if labels is not None:
        name = MULTI_LABELS_FILE if is_multi_label(model) else LABELS_FILE
        (folder / name).write_text("\n".join(labels), "utf-8")
    if not takes_text:
        preprocessor = preprocessor or signatures.own_preprocessor(model)
        tokenizer = getattr(task or preprocessor, "tokenizer", None)
        if tokenizer is not None:
            signatures.check_vocabulary(model, tokenizer)
        task = task_beside(model, tokenizer, task)
        if preprocessor is not None:
            # keras-hub reads a folder as a preset only if it has a backbone's config.
            backbone = getattr(model, "backbone", model)
            config = keras.saving.serialize_keras_object(backbone)
            write_json(folder / "config.json", config)
            preprocessor.save_to_preset(str(folder))
        elif task is not None:
            task.tokenizer.save_to_preset(str(folder))
    if task is not None:
        write_task(folder, task, is_of_ids=not takes_text)


def append_files(path, folder):
    """Appends the files of a folder to a TFLite file as a zip, like TFLite metadata."""
    files = sorted(path for path in pathlib.Path(folder).rglob("*") if path.is_file())
    if not files:
        return
    with zipfile.ZipFile(path, "a") as archive:
        for file in files:
            # Without a date, so that the same model gives the same bytes.
            entry = zipfile.ZipInfo(file.relative_to(folder).as_posix())
            archive.writestr(entry, file.read_bytes(), zipfile.ZIP_DEFLATED)


def extract_files(path, folder):
    """Writes the associated files of a TFLite file, if it has some, to a folder.

    Raises:
        ValueError: If they are damaged, or much larger than the file.
    """
    if not zipfile.is_zipfile(path):
        return
    try:
        with zipfile.ZipFile(path) as archive:
            num_bytes = sum(member.file_size for member in archive.infolist())
            largest = _LARGEST_FACTOR * pathlib.Path(path).stat().st_size
            if num_bytes > largest:
                raise ValueError(f"{num_bytes} bytes, more than {largest}")
            members = [m for m in archive.infolist() if _READ.fullmatch(m.filename)]
            if any(member.compress_type not in _METHODS for member in members):
                raise ValueError("a file that is not compressed by deflate")
            # It reads no more than the stated sizes; the checksums find longer files.
            archive.extractall(folder, members)
    except _ZIP_ERRORS as error:
        raise ValueError(
            "The associated files of a TFLite file must be whole, and not much larger "
            f"than the file. Received: '{path}': {shortened(str(error))}."
        ) from error


def read_labels(folder):
    """Returns the labels in a folder, and whether several may hold.

    The labels are a list, or `None` if there are none.
    """
    for name in (LABELS_FILE, MULTI_LABELS_FILE):
        file = pathlib.Path(folder, name)
        if file.is_file():
            try:
                labels = file.read_text("utf-8").split("\n")
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"The labels of a model must be UTF-8 text. Received: '{file}'."
                ) from error
            return labels, name == MULTI_LABELS_FILE
    return None, False


def read_tokenizer(folder):
    """Returns the tokenizer in a folder, or `None` if there is none."""
    if not pathlib.Path(folder, TOKENIZER_FILE).is_file():
        return None
    return EncoderTokenizer.from_preset(str(folder))


def read_packing(folder):
    """Returns how the preprocessor in a folder packs texts.

    Returns:
        Tuple of `sequence_length` and `takes_pairs`, or `None` if there is no
        preprocessor that makes all inputs from texts.
    """
    saved = registered_class(folder, PREPROCESSOR_FILE)
    if saved is None or not issubclass(saved, signatures.TEXT_PREPROCESSORS):
        return None
    config = read_object(folder, PREPROCESSOR_FILE)["config"]
    check_json(config, {"sequence_length": int}, PREPROCESSOR_FILE)
    return config["sequence_length"], config.get("takes_pairs", False)
