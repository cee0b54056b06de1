"""Export of finished runs and checkpoints."""

from albert_keras.checks import check_choice
from albert_keras.export import EXPORTERS
from albert_keras.export.text.kinds import TEXT_KINDS
from albert_keras.options import check_unused
from albert_keras.runs.inference import load_run
from albert_keras.tasks.embedding import EmbeddingTask


def export_run(
    folder,
    output,
    format="saved_model",
    *,
    inputs=None,
    sequence_length=None,
    dimensions=None,
    **options,
):
    """Writes the model of a finished run in a format for programs without this package.

    Args:
        folder: str or path of the run; or a checkpoint, as for `load_run`.
        output: str or path. Folder or file to write.
        format: str, a key of `EXPORTERS`.
        inputs: `"text"`, `"ids"`, or `None` for the format's default: text in a
            SavedModel, otherwise ids.
        sequence_length: int. For text inputs the maximum number of tokens, by default the
            run's; for ids the fixed length of rows, by default any.
        dimensions: int. For an embedder, the number of leading dimensions to keep.
        **options: Options of the format: `quantization` as for `export_tflite` and
            `export_saved_model`; `exit_rule`, an `ExitRule` for a run with exits, instead
            of the calibrated rule; `batch_size` as for `export_tflite` and `export_onnx`;
            `names` as for `export_onnx`. `None` is the default.

    Returns:
        Dict of `output`, its `bytes` and the model's number of `parameters`.

    Raises:
        FileNotFoundError: If there is no such model, or the run has not finished.
        ValueError: If the format has no such option, or the model cannot take text.
    """
    check_choice("format", format, EXPORTERS)
    task, model = load_run(folder)
    if not isinstance(task, EmbeddingTask):
        use = f"{type(model).__name__}, which gives no vectors"
        check_unused({"dimensions": dimensions}, ["dimensions"], use)
    elif dimensions is not None:
        model = model.with_dimensions(dimensions)
    exporter = EXPORTERS[format]
    options = {name: value for name, value in options.items() if value is not None}
    unused = sorted(options.keys() - exporter.options)
    check_unused(options, unused, f"format={format}")
    takes_text = (inputs or exporter.default_inputs) == "text"
    if model.export_spec().kind in TEXT_KINDS or not takes_text:
        # The graph answers like the task, or the task makes the ids.
        options["task"] = task
    elif model.preprocessor is None:
        # A graph cannot pack text as in training.
        long_texts = getattr(task, "long_texts", "head")
        how = "" if long_texts == "head" else f" trained with --long-texts {long_texts}"
        raise ValueError(
            "Only models of the beginnings of texts can be exported with text. Received: "
            f"{type(model).__name__}{how}. Export '{folder}' with `--inputs ids`."
        )
    options |= {
        "tokenizer": task.tokenizer if takes_text else None,
        # The numbers of classes, if the checkpoint has no labels.
        "labels": getattr(task, "labels", None) or None,
        "sequence_length": sequence_length,
    }
    num_bytes = exporter.write(model, output, **options).num_bytes
    parameters = model.count_params()
    return {"output": str(output), "parameters": parameters, "bytes": num_bytes}
