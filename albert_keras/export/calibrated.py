"""TFLite files whose exit rule is chosen on their own answers."""

import pathlib
import tempfile

from albert_keras.compression import calibrate
from albert_keras.compression.exit_inference import check_has_exits
from albert_keras.export.exits import EXIT_LOGITS
from albert_keras.export.tflite import export_tflite, load_tflite


def export_calibrated_tflite(
    model, path, texts, *, max_changed=0.01, confidence=0.95, **options
):
    """Writes a TFLite file with the exit rule that is best for this very file.

    Quantized weights give other logits than the model, whose rule may then change more
    answers than it was calibrated to. Here the file itself answers at all depths,
    `calibrate` chooses the rule on that, and the file is written again with it.

    Args:
        model: `AlbertEarlyExitClassifier` with a preprocessor.
        path: str or path. The file to write.
        texts: List of str, or of tuples of two for a model of pairs, that the model was
            not trained on. They need no labels.
        max_changed, confidence: As for `compression.calibrate`.
        options: Arguments of `export_tflite`, without `exit_rule`.

    Returns:
        Tuple of `Exported` and `compression.Calibration`.

    Raises:
        ValueError: If the model has no exits, or there are too few texts.

    Example:

    ```python
    classifier = ak.AlbertEarlyExitClassifier.from_preset("runs/exits")
    exported, calibration = ak.export.export_calibrated_tflite(
        classifier, "sst2.tflite", held_out_texts, quantization="int8"
    )
    calibration.chosen.rule, calibration.chosen.mean_depth
    ```
    """
    check_has_exits(model)
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "model.tflite")
        export_tflite(model, file, **options)
        outputs = load_tflite(file, signature=EXIT_LOGITS).predict(texts)
    budget = {"max_changed": max_changed, "confidence": confidence}
    calibration = calibrate(outputs[EXIT_LOGITS], **budget)
    rule = calibration.chosen.rule
    return export_tflite(model, path, exit_rule=rule, **options), calibration
