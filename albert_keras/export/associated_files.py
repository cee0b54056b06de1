"""Files beside the graph of an exported model: labels, task, tokenizer, preprocessor."""

import dataclasses
import pathlib
import re
import typing
import zipfile

import keras
import keras_hub

from albert_keras.checks import check_choice, check_json, shortened
from albert_keras.export.text.kinds import IDS_KINDS, TEXT_KINDS
from albert_keras.presets.preset_files import read_object, registered_class
from albert_keras.system.files import read_json, write_json
from albert_keras.tasks import Recipe
from albert_keras.tokenizers.base import EncoderTokenizer
from albert_keras.tokenizers.vocabulary import read_vocabulary

LABELS_FILE = "labels.txt"
# For models whose classes may hold together.
MULTI_LABELS_FILE = "multi_labels.txt"
PREPROCESSOR_FILE = "preprocessor.json"
TOKENIZER_FILE = "tokenizer.json"
# The kind of the model, and the fields of its task.
TASK_FILE = "served_task.json"

# Preprocessors that make all inputs of a model from texts.
TEXT_PREPROCESSORS = (
    keras_hub.models.TextClassifierPreprocessor,
    keras_hub.models.TextEmbedderPreprocessor,
)
# Names of associated files that are read; other programs may add others.
_READ = re.compile(r"(assets/tokenizer/)?\w[\w-]*\.(json|txt|spm)")
# Beside a small model the vocabulary is most of a file, compressed to a third.
_LARGEST_FACTOR = 8
# `zipfile` bounds the output of these methods by the stated size.
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class Exported(typing.NamedTuple):
    """An exported model: the path of the folder or file, and its bytes on disk."""

    path: pathlib.Path
    num_bytes: int


def measured(path):
    """Returns the `Exported` of a folder or file that was written."""
    path = pathlib.Path(path)
    files = [file for file in (path, *path.rglob("*")) if file.is_file()]
    return Exported(path, sum(file.stat().st_size for file in files))


def write_beside(folder, spec, task=None, *, takes_text=False):
    """Writes what `load_beside` reads: labels, task, and the tokenizer of a model of ids.

    Args:
        folder: str or path.
        spec: `ExportSpec`.
        task: What `task_to_export` returns, or `None`.
        takes_text: bool. Whether the graph has the tokenizer.
    """
    folder = pathlib.Path(folder)
    folder.mkdir(exist_ok=True)
    if spec.labels is not None:
        several = spec.kind == "several_classes"
        name = MULTI_LABELS_FILE if several else LABELS_FILE
        (folder / name).write_text("\n".join(spec.labels), "utf-8")
    if spec.preprocessor is not None and not takes_text:
        # keras-hub reads a folder as a preset only if it has a backbone's config.
        config = keras.saving.serialize_keras_object(spec.backbone)
        write_json(folder / "config.json", config)
        spec.preprocessor.save_to_preset(str(folder))
    elif task is not None and not takes_text:
        task.tokenizer.save_to_preset(str(folder))
    if task is None:
        return
    name = spec.kind if spec.kind in TEXT_KINDS else "texts"
    kind = IDS_KINDS[name]
    content = {field: getattr(task, field, None) for field in kind.stored}
    if not takes_text:
        # How the task makes ids.
        content["ids"] = {
            field: getattr(task.recipe if field == "sequence_length" else task, field)
            for field in kind.ids
        }
    write_json(folder / TASK_FILE, {"kind": name, **content})


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
            for member in archive.infolist():
                if (
                    _READ.fullmatch(member.filename)
                    and member.compress_type in _METHODS
                ):
                    # The checksum finds a file that is longer than its stated size.
                    archive.extract(member, folder)
    # Python raises many kinds of errors for damaged archives.
    except Exception as error:
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
            return read_vocabulary(file), name == MULTI_LABELS_FILE
    return None, False


def read_task(folder, tokenizer=None):
    """Returns the task that `write_beside` wrote to a folder.

    Args:
        folder: str or path.
        tokenizer: Tokenizer of the task, for a model of ids.

    Returns:
        Tuple of the entry of `TEXT_KINDS`, or `None` for a model of ids, and the task.
        Both are `None` if there is no file.
    """
    file = pathlib.Path(folder, TASK_FILE)
    if not file.is_file():
        return None, None
    content = read_json(file)
    is_of_ids = "ids" in content
    check_choice("kind", content.get("kind"), IDS_KINDS if is_of_ids else TEXT_KINDS)
    kind = IDS_KINDS[content.pop("kind")]
    check_json(content, {n: form for n, form in kind.stored.items() if form}, file)
    if not is_of_ids:
        return kind, kind.task(**content)
    ids = content.pop("ids")
    check_json(ids, kind.ids, file)
    if "sequence_length" in ids:
        ids["recipe"] = Recipe(sequence_length=ids.pop("sequence_length"))
    return None, dataclasses.replace(kind.task(**content), tokenizer=tokenizer, **ids)


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
    file = pathlib.Path(folder, PREPROCESSOR_FILE)
    saved = registered_class(file)
    if saved is None or not issubclass(saved, TEXT_PREPROCESSORS):
        return None
    _, config = read_object(file)
    check_json(config, {"sequence_length": int}, PREPROCESSOR_FILE)
    return config["sequence_length"], config.get("takes_pairs", False)
