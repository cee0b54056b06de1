"""ONNX folders of Hugging Face's layout: in ONNX Runtime, and in transformers.js."""

import json

import numpy as np
import pytest
from scipy.special import softmax

from albert_keras.export import export_onnx
from albert_keras.models import HEADS, AlbertMaskedLM, AlbertTextClassifier
from albert_keras.preprocessors import AlbertTextClassifierPreprocessor
from tests.converters.saving_test import make_model
from tests.helpers import max_difference
from tests.javascript import needs_packages, run_node
from tests.tasks.task_checks import LENGTH, make_backbone, make_tokenizer
from tools.verify_conversion import random_inputs

pytest.importorskip("tf2onnx")
TEXTS = ["The baker counts storms.", "storms, the Café and 中文", "what came?"]
LABELS = ["bad", "so-so", "göod"]
NAMES = {
    "input_ids": "token_ids",
    "attention_mask": "padding_mask",
    "token_type_ids": "segment_ids",
}

# Every pipeline for models of text, on the folder of its name; pairs have none.
PIPELINES = """
const { AutoModelForSequenceClassification, AutoTokenizer, pipeline } = transformers;
const run = async (task, folder, ...given) => (await pipeline(task, folder))(...given);
const { texts, masked } = inputs;
const every = { top_k: null };
const tokenizer = await AutoTokenizer.from_pretrained("classes");
const model = await AutoModelForSequenceClassification.from_pretrained("classes");
const pairs = tokenizer(texts, { text_pair: texts.toReversed(), padding: true });
return {
  ids: texts.map((text) => tokenizer.encode(text)),
  pairs: (await model(pairs)).logits.tolist(),
  classes: await run("text-classification", "classes", texts, every),
  tags: await run("token-classification", "tags", texts[0], { ignore_labels: [] }),
  masked: tokenizer.encode(masked),
  words: await run("fill-mask", "words", masked),
  features: (await run("feature-extraction", "features", texts[0])).tolist(),
  answer: await run("question-answering", "answer", texts[2], texts[0]),
};
"""


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A folder of exported models, these by name, and their preprocessor."""
    backbone, tokenizer = make_backbone(), make_tokenizer()
    preprocessor = AlbertTextClassifierPreprocessor(tokenizer, LENGTH)
    models = {
        "classes": AlbertTextClassifier(backbone, 3, preprocessor, labels=LABELS),
        "tags": HEADS["token_classification"].model(backbone, 5),
        "words": AlbertMaskedLM(backbone),
        "features": backbone,
        "answer": HEADS["question_answering"].model(backbone),
        "vectors": HEADS["text_embedding"].model(backbone, dense_dim=9),
    }
    folder = tmp_path_factory.mktemp("models")
    for name, model in models.items():
        export_onnx(model, folder / name, tokenizer, names="huggingface")
    return folder, models, preprocessor


@needs_packages
def test_pipelines_of_transformers_js(exported):
    folder, models, preprocessor = exported
    masked = "the [MASK] counts storms"
    found = run_node(PIPELINES, folder, {"texts": TEXTS, "masked": masked})

    features = preprocessor(TEXTS)
    lengths = np.sum(features["padding_mask"], -1)
    rows = zip(np.asarray(features["token_ids"]), lengths, strict=True)
    assert found["ids"] == [ids[:length].tolist() for ids, length in rows]
    logits = models["classes"].predict(TEXTS, verbose=0)
    for row, expected in zip(found["classes"], softmax(logits, -1), strict=True):
        scores = {entry["label"]: entry["score"] for entry in row}
        assert scores == pytest.approx(
            dict(zip(LABELS, expected, strict=True)), abs=1e-5
        )
    pairs = [*zip(TEXTS, TEXTS[::-1], strict=True)]
    expected = models["classes"].predict(pairs, verbose=0)
    assert max_difference(np.array(found["pairs"]), expected) < 1e-5

    one = {name: values[:1, : lengths[0]] for name, values in features.items()}
    hidden = models["features"](one)["sequence_output"]
    assert max_difference(np.array(found["features"]), hidden) < 1e-5
    tags = softmax(models["tags"](one), -1)[0, 1:-1].max(-1)
    assert [tag["score"] for tag in found["tags"]] == pytest.approx(tags, abs=1e-5)

    ids = np.array([found["masked"]])
    place = np.argmax(ids == preprocessor.tokenizer.mask_token_id, -1)[:, None]
    inputs = {"token_ids": ids, "segment_ids": 0 * ids, "padding_mask": 0 * ids + 1}
    words = softmax(models["words"]({**inputs, "mask_positions": place}), -1)[0, 0]
    best = np.argsort(-words)[:5]
    assert [word["token"] for word in found["words"]] == best.tolist()
    scores = [word["score"] for word in found["words"]]
    assert scores == pytest.approx(words[best], abs=1e-5)

    inputs = preprocessor(x=([TEXTS[2]], [TEXTS[0]]))
    in_context = np.asarray(inputs["segment_ids"])[0].astype(bool)
    in_context[0] = True
    in_context[np.sum(inputs["padding_mask"]) - 1] = False
    start, end = (
        softmax(np.where(in_context, logits[0], -np.inf))
        for logits in map(models["answer"](inputs).get, ("start_logits", "end_logits"))
    )
    start[0] = 0
    best = np.triu(np.outer(start, end)).max()
    assert found["answer"]["score"] == pytest.approx(best, abs=1e-5)


@pytest.mark.slow
def test_outputs_in_onnx_runtime_have_the_names_of_transformers(exported):
    runtime = pytest.importorskip("onnxruntime")
    folder, models, _ = exported
    logits = {"logits": "logits"}
    answer = {name: name for name in ("start_logits", "end_logits")}
    hidden = {"last_hidden_state": "sequence_output", "pooler_output": "pooled_output"}
    vectors = {"sentence_embedding": "embedding", "token_embeddings": "tokens"}
    for name, outputs in (
        *((name, logits) for name in ("classes", "tags", "words")),
        ("answer", answer),
        ("features", hidden),
        ("vectors", vectors),
    ):
        path, model = folder / name, models[name]
        session = runtime.InferenceSession(path / "onnx" / "model.onnx")
        assert {output.name for output in session.get_outputs()} == set(outputs), path
        inputs = random_inputs(model, seed=3)
        ids = inputs["token_ids"]
        if "mask_positions" in inputs:
            inputs["mask_positions"] = np.tile(np.arange(ids.shape[1]), (len(ids), 1))
        expected = model(inputs)
        if not isinstance(expected, dict):
            expected = {model.export_spec().output_name: expected}
        if name == "vectors":
            expected["tokens"] = model.backbone(inputs)["sequence_output"]
        theirs = {name: inputs[ours].astype("int64") for name, ours in NAMES.items()}
        assert {i.name: i.type for i in session.get_inputs()} == dict.fromkeys(
            NAMES, "tensor(int64)"
        )
        for name, ours in outputs.items():
            (value,) = session.run([name], theirs)
            assert max_difference(value, expected[ours]) < 1e-5, (path, ours)


@pytest.mark.slow
def test_the_config_says_what_the_graph_is(exported, tmp_path):
    folder, _, preprocessor = exported
    config = json.loads((folder / "words" / "config.json").read_text())
    assert config["architectures"] == ["AlbertForMaskedLM"]
    config = json.loads((folder / "classes" / "config.json").read_text())
    assert [*config["label2id"]] == LABELS
    # A browser's default would be a quantized model.
    assert config["transformers.js_config"] == {"dtype": "fp32"}
    assert (folder / "classes" / "tokenizer.json").is_file()
    assert config["pad_token_id"] == preprocessor.tokenizer.pad_token_id


def test_heads_that_transformers_lacks_are_refused(tmp_path):
    model = make_model("joint_question_answering", num_layers=1)
    with pytest.raises(ValueError, match="huggingface must know the model's head: "):
        export_onnx(model, tmp_path / "model", names="huggingface")
    with pytest.raises(ValueError, match="`names` must be one of None, huggingface."):
        export_onnx(model, tmp_path / "model", names="optimum")
    assert not list(tmp_path.iterdir())
