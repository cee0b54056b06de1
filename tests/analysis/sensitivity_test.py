"""Plot of what cuts, quantization and pruning of heads cost."""

import pytest

from albert_keras.analysis import plot_sensitivity
from tests.figure_checks import check_layout, texts_of


def make_results(layers_of_heads, quantization, has_exits=False):
    heads = [
        {
            "layers": layers,
            "head": head,
            "score": 0.75 - 0.01 * head,
            "cost": 0.01 * head,
        }
        for layers in layers_of_heads
        for head in (1, 2, 3, 4)
    ]
    return {
        "run": "runs/$st2",
        "metric": "accuracy",
        "num_rows": 1_872,
        "score": 0.75,
        "has_exits": has_exits,
        "depths": [
            {"depth": depth, "score": 0.5 + 0.125 * depth, "cost": 0.25 - 0.125 * depth}
            for depth in (1, 2)
        ],
        "quantization": quantization,
        "heads": heads,
        "pruned": [{"num_heads": n + 1, **head} for n, head in enumerate(heads)],
    }


FILES = [
    {"name": "TFLite float32", "bytes": 5_123_456, "score": 0.75, "cost": 0.0},
    {"name": "TFLite int8", "bytes": 1_423_456, "score": 0.74, "cost": 0.01},
]


@pytest.mark.parametrize(
    ("layers", "files", "has_exits"),
    [([[1, 2]], FILES, False), ([[n] for n in range(1, 7)], [], True)],
)
def test_layout(layers, files, has_exits, tmp_path):
    pytest.importorskip("matplotlib")
    results = make_results(layers, files, has_exits)
    figure = plot_sensitivity(results, tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_bytes().startswith(b"<?xml")
    check_layout(figure)
    texts = texts_of(figure)
    how = "exits" if has_exits else "the last layer's head"
    assert {f"Cut at a depth, with {how}", "layers applied", "accuracy"} <= texts
    assert ("Quantized" in texts) == bool(files)
    assert ("2\n(1-2)" in texts) == (not has_exits)
