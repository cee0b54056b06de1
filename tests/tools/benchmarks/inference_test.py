"""The benchmark of inference, on a tiny model and in this process."""

import numpy as np
import pytest

from tools.benchmarks import inference_contenders
from tools.benchmarks.inference import parse, prepare

WORDS = "--preset albert_test --rows 5 --batch-sizes 1 3 --processor-time"


@pytest.mark.slow
def test_contenders_predict_the_cases_of_both_kinds_of_rows(tmp_path):
    names = ["saved_model", "saved_model_bfloat16", "keras_hub"]
    work = prepare(parse(WORDS.split()), tmp_path, names)
    assert {path.name for path in tmp_path.iterdir()} == {*names[:2], "cases.json"}
    for name in names:
        milliseconds = inference_contenders.MEASUREMENTS["tensorflow"][name](work)()
        assert milliseconds.keys() == {"1 x texts", "3 x texts", "1 x 19", "3 x 19"}
        assert min(milliseconds.values()) > 0
    seen = {}
    inference_contenders.timed_cases(work, lambda case: seen.update({id(case): case}))
    for case in seen.values():
        lengths = [*map(len, case["token_ids"])]
        assert len(case["texts"]) == len(lengths) == 5
        # Rows of the model's 19 tokens, or of a sample that has shorter ones.
        assert max(lengths) == 19
        batches = [*inference_contenders.padded_batches(case)]
        masks = [mask.sum(axis=1).tolist() for _, mask in batches]
        assert np.concatenate(masks).tolist() == lengths
        assert [len(mask) for mask in masks] in ([1] * 5, [3, 2])
    assert min(len(case["token_ids"][0]) for case in seen.values()) < 19
