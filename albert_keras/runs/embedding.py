"""Vectors of the texts of a file, of any number, written part by part."""

import io
import itertools
import pathlib
import shutil

import numpy as np

from albert_keras.checks import check_choice, import_optional, shown
from albert_keras.export import is_exported, load_exported
from albert_keras.runs.finetuning_config import BATCH_SIZE
from albert_keras.runs.inference import AS_IN_THE_RUN, load_run
from albert_keras.runs.reporting import note
from albert_keras.system.files import (
    atomic_path,
    check_replaceable_file,
    claimed_folder,
    read_json,
    write_json,
)
from albert_keras.system.fingerprints import fingerprint_file
from albert_keras.system.progress import show_stages
from albert_keras.system.storage import is_address
from albert_keras.tasks.embedding import EmbeddingTask
from albert_keras.text.tables import read_table
from albert_keras.text.text_files import read_lines

# Texts that are sorted by length and encoded together; a resumed command goes on after
# the last whole part.
PART_TEXTS = 8192
TABLES = (".csv", ".tsv", ".jsonl", ".json")
SUFFIXES = (".npy", ".parquet")


def embed_file(
    folder,
    source,
    output,
    *,
    batch_size=BATCH_SIZE,
    dimensions=None,
    prompt_name=None,
    reading=AS_IN_THE_RUN,
    tokenizer=None,
):
    """Writes the vectors of the texts of a file, in their order.

    Texts are read twice, in batches of similar length within parts of 8,192, so that
    memory does not grow with the file. The output is whole or absent: until then the
    vectors are in a hidden folder beside it, from which the same call goes on.

    Args:
        folder: str or path. An embedder, as for `load_run`; or an exported one.
        source: str or path. A file with a text a line, or a table: `.csv`, `.tsv`,
            `.jsonl`.
        output: str or path. `.npy`, float32 `(num_texts, embedding_dim)`; or `.parquet`,
            with the columns `text` and `embedding`.
        batch_size: int. Texts of a batch.
        dimensions: int or `None`. See `AlbertTextEmbedder.with_dimensions`.
        prompt_name: str or `None`. See `AlbertTextEmbedder.encode_text`.
        reading: `RowOptions`: the text's column, by default `text`, and the encoding.
        tokenizer: As for `load_run`.

    Returns:
        Dict of `output`, `num_texts` and `embedding_dim`.

    Raises:
        FileNotFoundError: If there is no such file or model.
        ValueError: If the model is no embedder, there is no text, or the name of the
            output says no format.
    """
    output = pathlib.Path(output)
    check_choice("output.suffix", output.suffix, SUFFIXES)
    if is_address(output):
        raise ValueError(f"The output must be on this machine. Received: '{output}'.")
    check_replaceable_file(output)
    if output.suffix == ".parquet":
        import_optional("pyarrow.parquet", "parquet")
    num_texts = sum(1 for _ in _texts(source, reading))
    if not num_texts:
        raise ValueError(f"There must be a text to embed. Received: '{source}', empty.")
    encode = _encoder(folder, batch_size, dimensions, prompt_name, reading, tokenizer)
    # Another model gives another vector.
    first = encode([next(_texts(source, reading))])[0]
    made_from = {
        "source": fingerprint_file(source, whole=True),
        "texts": num_texts,
        "batch_size": batch_size,
        "first": first.tolist(),
    }
    work = output.with_name(f".{output.name}.partial")
    with claimed_folder(work):
        vectors = _unfinished(work, made_from)
        _encode_all(vectors, encode, source, reading, (num_texts, len(first)))
        with atomic_path(output) as temporary:
            if output.suffix == ".npy":
                vectors.replace(temporary)
            else:
                _write_parquet(temporary, _texts(source, reading), vectors)
    shutil.rmtree(work, ignore_errors=True)
    return {
        "output": str(output),
        "num_texts": num_texts,
        "embedding_dim": len(first),
    }


def _texts(source, reading):
    """Yields the texts of a file, one at a time."""
    column = reading.text_column or "text"
    if pathlib.Path(str(source).removesuffix(".gz")).suffix not in TABLES:
        yield from (line.strip() for line in read_lines(source, reading.decoding))
        return
    for number, row in read_table(source, columns=[column], decoding=reading.decoding):
        if not isinstance(row[column], str):
            raise ValueError(
                f"Each row must have a text. Received: '{source}', line {number}, with "
                f"{column}={shown(row[column])}."
            )
        yield row[column]


def _encoder(folder, batch_size, dimensions, prompt_name, reading, tokenizer):
    """Returns a function from a list of texts to their vectors, float32."""
    if not is_exported(folder):
        task, model = load_run(folder, tokenizer=tokenizer)
        if not isinstance(task, EmbeddingTask):
            raise ValueError(
                "The model must be an embedder. "
                f"Received: '{folder}', with {type(model).__name__}. `convert --head "
                "text_embedding` makes one of its backbone."
            )
        if dimensions is not None:
            model = model.with_dimensions(dimensions)
        options = {"batch_size": batch_size, "verbose": 0, "prompt_name": prompt_name}
        return lambda texts: model.encode_text(texts, **options)
    if any(given is not None for given in (dimensions, prompt_name, tokenizer)):
        raise ValueError(
            "Dimensions, prompt and tokenizer are of a run or checkpoint. "
            f"Received: one for '{folder}', an exported model. Remove it."
        )
    exported = load_exported(folder)

    def encode(texts):
        found = exported.predict(texts, batch_size)
        if not isinstance(found, dict) or "embedding" not in found:
            raise ValueError(
                f"The model must be an embedder. Received: '{folder}', which gives "
                f"{', '.join(found) if isinstance(found, dict) else 'other answers'}."
            )
        return found["embedding"]

    return encode


def _unfinished(work, made_from):
    """Returns the file of vectors in a folder, absent if it is of other data."""
    vectors, about = work / "vectors.npy", work / "embed.json"
    if not about.is_file() or read_json(about) != made_from:
        vectors.unlink(missing_ok=True)
        write_json(about, made_from)
    return vectors


def _encode_all(vectors, encode, source, reading, shape):
    """Appends the vectors that a file of NumPy's format lacks."""
    num_texts, embedding_dim = shape
    header = io.BytesIO()
    about = {"descr": "<f4", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, about)
    begin, part_bytes = header.tell(), PART_TEXTS * embedding_dim * 4
    num_bytes = vectors.stat().st_size if vectors.is_file() else 0
    num_parts = max(0, num_bytes - begin) // part_bytes
    done = num_parts * PART_TEXTS
    if done:
        note(f"resumed after {done} of {num_texts} texts")
    texts = itertools.islice(_texts(source, reading), done, None)
    with open(vectors, "ab") as file, show_stages({"embed": "texts"}) as show:
        file.truncate(begin + num_parts * part_bytes if done else 0)
        if not done:
            file.write(header.getvalue())
        while part := [*itertools.islice(texts, PART_TEXTS)]:
            file.write(encode(part).astype("<f4").tobytes())
            file.flush()
            done += len(part)
            show("embed", done, num_texts)


def _write_parquet(path, texts, vectors):
    """Writes texts and vectors as a table, in row groups of a part."""
    pyarrow = import_optional("pyarrow", "parquet")
    parquet = import_optional("pyarrow.parquet", "parquet")
    array = np.load(vectors, mmap_mode="r")
    embedding = pyarrow.list_(pyarrow.float32(), array.shape[1])
    schema = pyarrow.schema({"text": pyarrow.string(), "embedding": embedding})
    with parquet.ParquetWriter(path, schema) as writer:
        for begin in range(0, len(array), PART_TEXTS):
            part = pyarrow.array(array[begin : begin + PART_TEXTS].ravel())
            columns = [
                pyarrow.array(itertools.islice(texts, PART_TEXTS), pyarrow.string()),
                pyarrow.FixedSizeListArray.from_arrays(part, array.shape[1]),
            ]
            writer.write_table(pyarrow.Table.from_arrays(columns, schema=schema))
