"""Export of finished fine-tuning runs."""

from albert_keras.checks import check_choice
from albert_keras.export import EXPORTERS
from albert_keras.export.signatures import text_preprocessor
from albert_keras.runs.inference import load_finetuned


def export_run(
    folder,
    output,
    format="saved_model",
    *,
    inputs=None,
    quantization=None,
    sequence_length=None,
):
    """Writes the model of a finished fine-tuning run as a SavedModel or a TFLite file.

    Args:
        folder: str or path of the run.
        output: str or path. Folder or file to write.
        format: str, a key of `EXPORTERS`.
        inputs: `"text"`, `"ids"`, or `None` for the format's default: text in a
            SavedModel, ids in a TFLite file.
        quantization: As for `export_tflite`.
        sequence_length: int. Tokens that texts are padded or cut to; default: the run's.

    Returns:
        Dict of `output`, its `bytes` and the model's number of `parameters`.

    Raises:
        FileNotFoundError: If `folder` is not a run, or one that has not finished.
        ValueError: If the format has no such option, or the task takes no plain text.
    """
    check_choice("format", format, EXPORTERS)
    task, model = load_finetuned(folder)
    exporter = EXPORTERS[format]
    options = {"quantization": quantization} if quantization else {}
    if options.keys() - set(exporter.options):
        raise ValueError(
            "Only TFLite files are quantized. "
            f"Received: quantization={quantization}, format={format}."
        )
    takes_text = (inputs or exporter.default_inputs) == "text"
    if takes_text:
        _check_takes_text(folder, task, model)
    if sequence_length is None and (takes_text or not exporter.takes_any_length):
        sequence_length = task.recipe.sequence_length
    exported = exporter.write(
        model,
        output,
        tokenizer=task.tokenizer if takes_text else None,
        # Models of earlier versions have no labels of their own.
        labels=getattr(task, "labels", None) or None,
        sequence_length=sequence_length,
        **options,
    )
    return {
        "output": str(output),
        "bytes": exported.num_bytes,
        "parameters": model.count_params(),
    }


def _check_takes_text(folder, task, model):
    """Checks that a graph can pack text in the way the model was trained."""
    if text_preprocessor(model) is None:
        long_texts = getattr(task, "long_texts", "head")
        how = "" if long_texts == "head" else f" trained with --long-texts {long_texts}"
        raise ValueError(
            "A model that takes text must classify the beginnings of texts or pairs. "
            f"Received: '{folder}' with {type(model).__name__}{how}. Export it with "
            "`--inputs ids`."
        )
