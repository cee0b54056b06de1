"""Vectors of the texts in a file of any size."""

import hashlib
import itertools
import pathlib
import shutil

import numpy as np

from albert_keras.checks import check_choice, import_optional, shown
from albert_keras.export import is_exported, load_exported
from albert_keras.options import check_unused
from albert_keras.runs.finetuning_config import BATCH_SIZE
from albert_keras.runs.inference import DEFAULT_ROW_OPTIONS, load_run
from albert_keras.system.files import (
    atomic_path,
    check_replaceable_file,
    claimed_folder,
)
from albert_keras.system.fingerprints import fingerprint_file
from albert_keras.system.progress import show_stages
from albert_keras.tasks.embedding import EmbeddingTask
from albert_keras.text.tables import read_table
from albert_keras.text.text_files import read_lines

# Texts that are sorted by length, encoded and saved together.
PART_TEXTS = 8192
TABLES = (".csv", ".tsv", ".jsonl", ".json")


def embed_file(
    folder,
    source,
    output,
    *,
    batch_size=BATCH_SIZE,
    prompt_name=None,
    reading=DEFAULT_ROW_OPTIONS,
):
    """Writes the vectors of the texts in a file, in their order.

    Texts are sorted into batches of similar length within parts of 8,192 texts, so that
    memory does not grow with the file. Finished parts are in a hidden folder beside the
    output, so that the same call resumes. The output is written when all are finished.

    Args:
        folder: str or path. An embedder, as for `load_run`; or an exported one.
        source: str or path. A file with a text in each line, or a table: `.csv`, `.tsv`,
            `.jsonl`.
        output: str or path. `.npy`, float32 `(num_texts, embedding_dim)`; or `.parquet`,
            with the columns `text` and `embedding`.
        batch_size: int. Texts of a batch.
        prompt_name: str or `None`. See `AlbertTextEmbedder.encode_text`.
        reading: `RowOptions`: column of the text, by default `text`, and encoding.

    Returns:
        Dict of `output`, `num_texts` and `embedding_dim`.

    Raises:
        FileNotFoundError: If there is no such file or model.
        ValueError: If the model is no embedder, there is no text, or the output's suffix
            is unknown.

    Example:

    ```python
    ak.runs.embed_file("runs/embedder", "corpus.txt", "vectors.npy")
    ```
    """
    output = pathlib.Path(output)
    check_choice("output.suffix", output.suffix, _WRITERS)
    check_replaceable_file(output)
    num_texts = sum(1 for _ in _texts(source, reading))
    if not num_texts:
        raise ValueError(f"There must be a text to embed. Received: '{source}', empty.")
    encode = _encoder(folder, batch_size, prompt_name)
    first = encode([next(_texts(source, reading))])
    if first is None:
        raise ValueError(
            f"The model must be an embedder. Received: '{folder}', which gives other "
            "answers. `convert --head text_embedding` makes one from a backbone."
        )
    # The first vector identifies the model.
    content = fingerprint_file(source, whole=True)
    made_from = repr([content, batch_size, first.tolist(), reading])
    digest = hashlib.sha256(made_from.encode()).hexdigest()[:16]
    work = output.with_name(f".{output.name}.parts")
    files = [work / f"{digest}-{n}.npy" for n in range(-(-num_texts // PART_TEXTS))]
    with claimed_folder(work), show_stages() as show:
        texts = _texts(source, reading)
        for number, file in enumerate(files):
            part = [*itertools.islice(texts, PART_TEXTS)]
            if not file.is_file():
                with atomic_path(file) as temporary:
                    np.save(temporary, encode(part).astype(np.float32))
            show("embed", number * PART_TEXTS + len(part), num_texts)
        shape = num_texts, first.shape[1]
        with atomic_path(output) as temporary:
            texts = _texts(source, reading)
            _WRITERS[output.suffix](temporary, texts, map(np.load, files), shape)
    shutil.rmtree(work, ignore_errors=True)
    return {"output": str(output), "num_texts": num_texts, "embedding_dim": shape[1]}


def _texts(source, reading):
    """Yields the texts of a file."""
    if pathlib.Path(str(source).removesuffix(".gz")).suffix not in TABLES:
        yield from (line.strip() for line in read_lines(source, reading.decoding))
        return
    column = reading.text_column or "text"
    for number, row in read_table(source, columns=[column], decoding=reading.decoding):
        if not isinstance(row[column], str):
            raise ValueError(
                f"Each row must have a text. Received: '{source}', line {number}, with "
                f"{column}={shown(row[column])}."
            )
        yield row[column]


def _encoder(folder, batch_size, prompt_name):
    """Returns a function from texts to vectors, or to `None` for other models."""
    if is_exported(folder):
        given = {"prompt_name": prompt_name}
        check_unused(given, given, f"the exported model '{folder}'")
        exported = load_exported(folder)

        def encode(texts):
            found = exported.predict(texts, batch_size)
            return found.get("embedding") if isinstance(found, dict) else None

        return encode
    task, model = load_run(folder)
    if not isinstance(task, EmbeddingTask):
        return lambda texts: None
    options = {"batch_size": batch_size, "verbose": 0, "prompt_name": prompt_name}
    return lambda texts: model.encode_text(texts, **options)


def _write_npy(path, texts, parts, shape):
    header = {"descr": "<f4", "fortran_order": False, "shape": shape}
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for part in parts:
            file.write(part.tobytes())


def _write_parquet(path, texts, parts, shape):
    arrow = import_optional("pyarrow", "parquet")
    parquet = import_optional("pyarrow.parquet", "parquet")
    kinds = arrow.string(), arrow.list_(arrow.float32(), shape[1])
    schema = arrow.schema([*zip(("text", "embedding"), kinds, strict=True)])
    with parquet.ParquetWriter(path, schema) as writer:
        for part in parts:
            rows = [*itertools.islice(texts, len(part))], [*part]
            columns = [arrow.array(*each) for each in zip(rows, kinds, strict=True)]
            writer.write_table(arrow.table(columns, schema=schema))


_WRITERS = {".npy": _write_npy, ".parquet": _write_parquet}
