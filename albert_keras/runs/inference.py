"""Finished runs, checkpoints and exported models: predictions, scores, vectors, exits."""

import dataclasses
import hashlib
import itertools
import pathlib
import shutil
from typing import Any, NamedTuple

import numpy as np

from albert_keras.checks import check_choice, import_optional, shown
from albert_keras.compression import EarlyExit, calibrate
from albert_keras.compression.exit_inference import check_has_exits
from albert_keras.converters import load_checkpoint
from albert_keras.converters.heads import head_of
from albert_keras.export import is_exported, load_exported
from albert_keras.export.saved_model import is_saved_model
from albert_keras.options import check_unused
from albert_keras.pretraining import PretrainingTask
from albert_keras.runs.finetuning_config import (
    BATCH_SIZE,
    TABLES,
    FinetuningRunConfig,
    RowOptions,
)
from albert_keras.runs.finetuning_task import read_rows, task_of_run
from albert_keras.runs.folder import RunFolder, kind_of_run, save_report
from albert_keras.runs.predictions import check_output, write_predictions
from albert_keras.runs.pretraining import check_data
from albert_keras.runs.pretraining_config import PretrainingRunConfig
from albert_keras.runs.reporting import note
from albert_keras.system.files import (
    atomic_path,
    check_replaceable_file,
    claimed_folder,
    write_json,
)
from albert_keras.system.fingerprints import fingerprint_file
from albert_keras.system.progress import show_stages
from albert_keras.tasks import PreparedRows, TextClassificationTask
from albert_keras.tasks.embedding import EmbeddingTask
from albert_keras.tasks.masked_words import MaskedWordsTask
from albert_keras.tasks.metrics import check_finite_outputs
from albert_keras.tasks.prediction import check_kind, task_of
from albert_keras.tasks.zero_shot import TEMPLATE, zero_shot_task
from albert_keras.text.corpus import SUFFIXES
from albert_keras.text.tables import read_table
from albert_keras.text.text_files import read_lines
from albert_keras.tokenizers import load_tokenizer

DEFAULT_ROW_OPTIONS = RowOptions()

# Texts that are sorted by length, encoded and saved together.
PART_TEXTS = 8192


class Predicted(NamedTuple):
    """Predictions for rows.

    Attributes:
        task: `FinetuningTask`, or `MaskedWordsTask`.
        prepared: Its `PreparedRows`.
        predictions: As returned by the task's `predict`.
        exit_depths: float array `(num_rows,)`: for a model with exits the depth at which
            a row left it, the mean over the row's windows; else `None`.
    """

    task: Any
    prepared: Any
    predictions: Any
    exit_depths: Any = None

    def score(self):
        """Returns the scores of labelled rows; with exits also `mean_exit_depth`."""
        scores = self.task.score(self.prepared, self.predictions)
        if self.exit_depths is None:
            return scores
        return {**scores, "mean_exit_depth": float(self.exit_depths.mean())}

    def describe(self):
        """Returns a dict for each row; with exits it has `exit_depth`."""
        rows = self.task.describe(self.prepared, self.predictions)
        depths = [] if self.exit_depths is None else self.exit_depths.tolist()
        for row, depth in zip(rows, depths, strict=False):
            row["exit_depth"] = depth
        return rows


class LoadedModel(NamedTuple):
    """A model for prediction, with its task.

    Attributes:
        task: `FinetuningTask` with a tokenizer, such as `EmbeddingTask` for an embedder;
            or `MaskedWordsTask` for a pretrained model.
        model: Keras model.
    """

    task: Any
    model: Any

    def predict(self, samples, batch_size=BATCH_SIZE):
        """Returns labels, tags, answers, filled masks or vectors.

        Args:
            samples: List of samples. Their form depends on the task:

                *   classification, regression, embedding: a text, or a tuple of two
                    texts for pairs;
                *   question answering: a tuple of question and context;
                *   tagging: a sentence, as str or list of words;
                *   multiple choice: a tuple of context, question and list of options;
                    the question may be absent;
                *   masked words: a text with `[MASK]`.

                A sample may also be a dict with the names of the task's files, such as
                `{"question": ..., "context": ...}`.
            batch_size: int. Examples of a batch.

        Returns:
            List of dicts of JSON values, as of `albert-keras predict --json`.

        Raises:
            TypeError: If `samples` is one text, a dict or a table.
            ValueError: If a part of a sample is absent.

        Example:

        ```python
        run = ak.load_run("runs/squad")
        run.predict([("Who wrote it?", "It was written by Ann.")])
        ```
        """
        prepared = self.task.prepare(self.task.rows_of(samples))
        return self.predict_rows(prepared, batch_size).describe()

    def encode(self, texts, **options):
        """Returns the vectors of texts; see `AlbertTextEmbedder.encode_text`.

        Example:

        ```python
        ak.load_run("runs/embedder").encode(["a charming journey"])
        ```
        """
        check_kind(self.model, "AlbertTextEmbedder")
        return self.model.encode_text(texts, **options)

    def classify(
        self, texts, labels, template=TEMPLATE, multi_label=False, batch_size=BATCH_SIZE
    ):
        """Classifies texts with labels that the model was not trained on.

        Args:
            texts: List of str.
            labels, template, multi_label: See `tasks.zero_shot.zero_shot_task`.
            batch_size: int. Pairs of a text and a label in a batch.

        Returns:
            List of dicts: `text`, the best `label`, and `probabilities`, a dict by label.

        Raises:
            TypeError, ValueError: As of `zero_shot_task`.

        Example:

        ```python
        ak.load_run("runs/mnli").classify(["The ball is in."], ["sport", "politics"])
        ```
        """
        task = zero_shot_task(self.model, labels, template, multi_label)
        return LoadedModel(task, self.model).predict(texts, batch_size)

    def predict_rows(self, prepared, batch_size, exit_rule=None):
        """Returns the `Predicted` of `PreparedRows`.

        A model with exits uses its calibrated rule, or `exit_rule`, an `ExitRule`.
        """
        task, model = self
        if exit_rule is None and not model.export_spec().has_exits:
            return Predicted(task, prepared, task.predict(model, prepared, batch_size))
        exits = EarlyExit(model, exit_rule)
        outputs = task.example_outputs(exits, prepared.examples, batch_size)
        names = ("logits", "exit_depth")
        logits, depths = (task.of_rows(prepared, outputs[name]) for name in names)
        check_finite_outputs(logits)
        return Predicted(task, prepared, logits, depths)


def load_run(folder, reading=DEFAULT_ROW_OPTIONS, tokenizer=None):
    """Loads a finished run, or a checkpoint with a tokenizer, as a `LoadedModel`.

    Args:
        folder: str or path of a run of `finetune` or `pretrain`; or a preset, folder,
            name or address for `load_checkpoint`, with a vocabulary beside it.
        reading: `RowOptions` for the files of the task.
        tokenizer: Tokenizer of this package, or str or path for `load_tokenizer`.
            Default: the model's own.

    Raises:
        FileNotFoundError: If there is no such model, or the run has not finished.
        ValueError: If the model has no head or no vocabulary, or `reading` names columns
            and the task reads no tables.

    Example:

    ```python
    ak.load_run("runs/sst2").predict(["a charming journey"])
    ak.load_run("albert_base_v2").predict(["The capital of France is [MASK]."])
    ```
    """
    if kind_of_run(folder) == FinetuningRunConfig.kind:
        return load_finetuned(folder, reading, tokenizer)
    model = load_checkpoint(folder, tokenizer=tokenizer)
    head = head_of(model)
    if head is None:
        raise ValueError(
            "The model must have a head to predict with. "
            f"Received: '{folder}', a backbone. Fine-tune it first."
        )
    if model.preprocessor is None:
        # A preset without preprocessor may have a tokenizer; if not, the error says why.
        model = load_checkpoint(folder, tokenizer=folder)
    tokenizer = model.preprocessor.tokenizer
    task = MaskedWordsTask(tokenizer) if head == "pretraining" else task_of(model)
    return LoadedModel(reading.applied_to(task, f"'{folder}'"), model)


def load_finetuned(folder, reading=DEFAULT_ROW_OPTIONS, tokenizer=None):
    """Loads a fine-tuning run as a `LoadedModel`; see `load_run`."""
    task = reading.applied_to(task_of_run(folder), f"'{folder}'")
    model = load_checkpoint(folder, tokenizer=tokenizer)
    preprocessor = model.preprocessor
    # None if it was trained on windows of texts, or on other parts than beginnings.
    tokenizer = preprocessor.tokenizer if preprocessor else load_tokenizer(folder)
    return LoadedModel(dataclasses.replace(task, tokenizer=tokenizer), model)


def evaluate_run(folder, data, *, report=None, **options):
    """Evaluates a finished run, or another model, on held-out data; returns the scores.

    Args:
        folder: As for `load_run`; or an exported model: see `load_exported`.
        data: str or path. For a pretraining run a folder of `prepare-data`, otherwise a
            file of the task's rows.
        report: str, path or None. Folder for `report.json`, `mistakes.csv`, the page
            `report.html` and the plot of confused classes. No effect for a pretraining
            run.
        **options: `batch_size`, int, examples of a batch, by default 32; `reading`,
            `RowOptions` for files with other columns than the run's, whose encoding is
            not used; `exit_rule`, `ExitRule` for a run with exits, instead of the
            calibrated rule; `tokenizer` as for `load_run`. A run with exits has the score
            `mean_exit_depth`.

    Raises:
        FileNotFoundError: If there is no such model, or the run has not finished.
        ValueError: If the data does not fit the model.
    """
    if kind_of_run(folder) == PretrainingRunConfig.kind:
        return _evaluate_pretrained(folder, data, **options)

    def read(task):
        if isinstance(task, MaskedWordsTask):
            raise ValueError(
                "The model's task must have scores. "
                f"Received: '{folder}', whose task is {type(task).__name__}."
            )
        return read_rows(task, data)

    predicted = _predict(folder, read, **options)
    if report:
        save_report(report, *predicted[:3])
    return predicted.score()


def _evaluate_pretrained(folder, data, batch_size=BATCH_SIZE, tokenizer=None, **_):
    if str(data).endswith(tuple(SUFFIXES)):
        raise ValueError(
            "A run of `pretrain` is evaluated on data of `prepare-data`. Received: "
            f"'{data}', a text. Convert it by `prepare-data --tokenizer {folder}`."
        )
    model = load_checkpoint(folder, tokenizer=tokenizer)
    check_data(data, model.preprocessor.tokenizer, model.backbone.albert_config)
    pairs = RunFolder(folder).read()["examples"]["sentence_pairs"]
    task = PretrainingTask(pairs if model.num_pair_classes else "none")
    return task.evaluate(model, data, batch_size)


def predict_with_run(folder, texts=None, *, data=None, output=None, **options):
    """Predicts with a finished run, a checkpoint or an exported model.

    Args:
        folder: As for `load_run`; or an exported model: see `load_exported`.
        texts: List of samples, see `LoadedModel.predict`, or None.
        data: str, path or None. A file of the task's rows, instead of `texts`. Labels are
            not needed.
        output: str, path or None. File to write; see `write_predictions`, which keeps
            the columns of `data`.
        **options: As for `evaluate_run`; and `zero_shot`, a dict of arguments of
            `LoadedModel.classify`, such as `labels`. Predictions of a model with exits
            have `exit_depth`.

    Returns:
        List with a dict of JSON values for each text or row.

    Raises:
        FileNotFoundError: If there is no such model, or the run has not finished.
        ValueError: If the texts or the format do not fit the task, or an exported model
            has no task.
    """

    def read(task):
        if isinstance(task, EmbeddingTask):
            raise ValueError(
                "Predictions must be labels or words. "
                f"Received: '{folder}', which gives vectors. Use `embed`."
            )
        if output:
            check_output(output, task)
        if data is None:
            return task.rows_of(texts)
        return read_rows(task, data, needs_labels=False)

    predicted = _predict(folder, read, **options)
    # Exported models cut texts in their graph.
    has_examples = predicted.prepared.examples is not None
    if has_examples and hasattr(predicted.task, "long_texts"):
        for line in predicted.task.notes(predicted.prepared):
            note(line)
    if output:
        write_predictions(output, *predicted[:3], source=data)
    return predicted.describe()


def _predict(
    folder,
    read,
    *,
    batch_size=BATCH_SIZE,
    reading=DEFAULT_ROW_OPTIONS,
    exit_rule=None,
    tokenizer=None,
    zero_shot=None,
):
    """Predicts rows with a run, a checkpoint or an exported model.

    Args:
        read: Function from the model's task to its rows.

    Returns:
        `Predicted`.
    """
    if not is_exported(folder):
        run = load_run(folder, reading, tokenizer)
        if zero_shot is not None:
            task = zero_shot_task(run.model, **zero_shot)
            run = run._replace(task=reading.applied_to(task, f"'{folder}'"))
        prepared = run.task.prepare(read(run.task))
        return run.predict_rows(prepared, batch_size, exit_rule)
    given = {"labels": zero_shot, "exit_rule": exit_rule, "tokenizer": tokenizer}
    check_unused(given, given, f"the exported model '{folder}'")
    if is_saved_model(folder):
        note("a SavedModel is a program: use only ones that you trust")
    exported = load_exported(folder)
    task = reading.applied_to(_exported_task(exported), f"'{folder}'")
    rows = read(task)
    if isinstance(task, EmbeddingTask):
        prepared = task.prepare(rows)
        outputs = exported.predict([*prepared.details], batch_size)
        return Predicted(task, prepared, outputs["embedding"])
    exported.task = task
    task, predictions, exit_depths = exported.predict_rows(rows, batch_size)
    return Predicted(task, PreparedRows(rows, None), predictions, exit_depths)


def _exported_task(exported):
    """Returns the task of an `ExportedModel`, `EmbeddingTask` if it gives vectors."""
    task = exported.task
    # No file beside an embedder names its kind. A text shows it.
    has_kind = type(task) is not TextClassificationTask or task.labels
    if has_kind or task.columns.pair or "embedding" not in exported.predict(["a"]):
        return task
    # The objective that requires the fewest columns.
    return EmbeddingTask(objective="simcse")


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
    """Returns a function from texts to their vectors."""
    if is_exported(folder):
        given = {"prompt_name": prompt_name}
        check_unused(given, given, f"the exported model '{folder}'")
        exported = load_exported(folder)
        task = _exported_task(exported)

        def encode(texts):
            return exported.predict(texts, batch_size)["embedding"]

    else:
        task, model = load_run(folder)
        options = {"batch_size": batch_size, "verbose": 0, "prompt_name": prompt_name}

        def encode(texts):
            return model.encode_text(texts, **options)

    if not isinstance(task, EmbeddingTask):
        raise ValueError(
            f"The model must be an embedder. Received: '{folder}', which gives other "
            "answers. `convert --head text_embedding` makes one from a backbone."
        )
    return encode


def _write_npy(path, texts, parts, shape):
    header = {"descr": "<f4", "fortran_order": False, "shape": shape}
    with open(path, "wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for part in parts:
            file.write(part.tobytes())


def _write_parquet(path, texts, parts, shape):
    arrow = import_optional("pyarrow", "parquet")
    parquet = import_optional("pyarrow.parquet", "parquet")
    vectors = arrow.list_(arrow.float32(), shape[1])
    schema = arrow.schema({"text": arrow.string(), "embedding": vectors})
    with parquet.ParquetWriter(path, schema) as writer:
        for part in parts:
            rows = {"text": [*itertools.islice(texts, len(part))], "embedding": [*part]}
            writer.write_table(arrow.table(rows, schema=schema))


_WRITERS = {".npy": _write_npy, ".parquet": _write_parquet}


def calibrate_run(
    folder, data, *, batch_size=BATCH_SIZE, reading=DEFAULT_ROW_OPTIONS, **options
):
    """Chooses the exit rule of a finished run, and saves it in the run's model.

    Evaluation, prediction and exports then use it. The results are also in
    `calibration.json` in the run's folder.

    Args:
        folder: str or path of a run of `finetune --early-exit`.
        data: str or path. Rows of the task that the model was not trained on. Labels are
            not needed.
        batch_size: int. Examples of a batch.
        reading: `RowOptions` for files with other columns than the run's.
        **options: `max_changed` and `confidence`, as for `compression.calibrate`.

    Returns:
        Dict: `rule`, the fields of the `ExitRule`; its `mean_depth`, `layer_ratio` (all
        layers divided by the mean depth), `num_changed` (answers that differ from full
        depth), `bound` (upper bound of their share) and `beats_static_cut`; `num_rows`;
        `rules`, the fastest rule of each kind; and `static_cut`, the share of changed
        answers of the model cut at each depth.

    Raises:
        ValueError: If the run has no exits, or there are too few rows.
    """
    task, model = load_finetuned(folder, reading)
    check_has_exits(model)
    examples = task.prepare(read_rows(task, data, needs_labels=False)).examples
    logits = task.example_outputs(model.exit_logits, examples, batch_size)
    calibration = calibrate(logits, **options)
    results = {
        **_described(calibration, calibration.chosen),
        "num_rows": calibration.num_rows,
        "rules": {
            name: _described(calibration, measured)
            for name, measured in calibration.fastest.items()
        },
        "static_cut": {
            str(depth): share
            for depth, share in enumerate(calibration.static_shares.tolist(), start=1)
        },
    }
    model.exit_rule = calibration.chosen.rule.to_dict()
    run = RunFolder(folder)
    with run.claimed():
        run.save_model(model, task.tokenizer)
        write_json(run.path / "calibration.json", results)
    return results


def _described(calibration, measured):
    return {
        "rule": measured.rule.to_dict(),
        "mean_depth": measured.mean_depth,
        "layer_ratio": len(calibration.static_shares) / measured.mean_depth,
        "num_changed": measured.num_changed,
        "bound": measured.bound,
        "beats_static_cut": calibration.beats_static_cut(measured),
    }
