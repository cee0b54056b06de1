"""Parameter counts: the published table, and the built models."""

import keras
import pytest

from albert_keras.analysis import count_parameters, parameter_table, plot_parameters
from albert_keras.config import PRESETS, SHARING, AlbertConfig
from albert_keras.models import AlbertBackbone, AlbertPretrainer
from tests.figure_checks import check_layout, texts_of
from tests.helpers import make_config

# One attention and one feed-forward sub-layer; backbones by sharing (all, attention,
# ffn, none); MLM head, SOP head; the pretraining model with all shared.
PUBLISHED = {
    "albert_base_v2": (
        (2_363_904, 4_723_968),
        (11_683_584, 63_647_232, 37_686_528, 89_650_176),
        (128_688, 1_538, 11_813_810),
    ),
    "albert_large_v2": (
        (4_200_448, 8_395_776),
        (17_683_968, 210_786_816, 114_294_272, 307_397_120),
        (161_456, 2_050, 17_847_474),
    ),
    "albert_xlarge_v2": (
        (16_789_504, 33_568_768),
        (58_724_864, 830_806_528, 444_883_456, 1_216_965_120),
        (292_528, 4_098, 59_021_490),
    ),
    "albert_xxlarge_v2": (
        (67_133_440, 134_246_400),
        (222_595_584, 1_699_305_984, 961_063_424, 2_437_773_824),
        (554_672, 8_194, 223_158_450),
    ),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_sizes_by_sharing(name):
    sub_layers, backbones, heads = PUBLISHED[name]
    table = parameter_table(AlbertConfig.from_preset(name))
    assert (table["attention"], table["feed_forward"]) == sub_layers
    received = [
        count_parameters(AlbertConfig.from_preset(name, sharing=sharing))
        for sharing in ("all", "attention", "ffn", "none")
    ]
    assert tuple(received) == backbones
    assert (table["mlm_head"], table["sop_head"], sum(table.values())) == heads


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"embedding_dim": 64}, 9_681_408),
        ({"embedding_dim": 128}, 11_683_584),
        ({"embedding_dim": 256}, 15_687_936),
        ({"embedding_dim": 768}, 31_114_752),
        ({"embedding_dim": 768, "always_project_embeddings": True}, 31_705_344),
        ({"embedding_dim": 64, "sharing": "none"}, 87_648_000),
        ({"embedding_dim": 128, "sharing": "none"}, 89_650_176),
        ({"embedding_dim": 256, "sharing": "none"}, 93_654_528),
        ({"embedding_dim": 768, "sharing": "none"}, 109_081_344),
        ({"embedding_dim": 768, "sharing": "attention"}, 83_078_400),
        ({"embedding_dim": 768, "sharing": "ffn"}, 57_117_696),
        ({"num_groups": 1}, 11_683_584),
        ({"num_groups": 2}, 18_771_456),
        ({"num_groups": 3}, 25_859_328),
        ({"num_groups": 4}, 32_947_200),
        ({"num_groups": 6}, 47_122_944),
        ({"num_groups": 12}, 89_650_176),
        # More groups than layers: those without a layer have no parameters.
        ({"num_groups": 13}, 89_650_176),
    ],
)
def test_ablations_of_the_base_size(changes, expected):
    config = AlbertConfig.from_preset("albert_base_v2", **changes)
    assert count_parameters(config) == expected


@pytest.mark.parametrize(
    ("name", "changes", "expected"),
    [
        ("albert_tiny_zh", {}, 4_080_520),
        ("albert_small_zh", {}, 4_742_272),
        ("albert_base_zh", {}, 10_547_968),
        ("albert_large_zh", {}, 16_548_352),
        ("albert_xlarge_zh", {}, 57_589_248),
        ("albert_xxlarge_zh", {}, 221_459_968),
        (
            "albert_xxlarge_v2",
            {"hidden_dim": 6144, "intermediate_dim": 4 * 6144},
            495_518_208,
        ),
        ("bert_base", {}, 109_081_344),
        ("bert_large", {}, 334_607_360),
        ("bert_xlarge", {}, 1_275_291_648),
    ],
)
def test_other_sizes(name, changes, expected):
    assert count_parameters(AlbertConfig.from_preset(name, **changes)) == expected


def count_built_parameters(config):
    """Counts those of a built pretraining model, by part, without their memory.

    In a stateless scope that is left without initialization, variables have a shape and
    no value: even bert_xlarge costs nothing.
    """
    with keras.StatelessScope(initialize_variables=False):
        backbone = AlbertBackbone(**config.to_dict())
        model = AlbertPretrainer(backbone, compile=False)
    parts = {
        "embeddings": model.backbone.embedding,
        "pooler": model.backbone.pooler,
        "mlm_head": model.mlm_head,
        "sop_head": model.pair_head,
    }
    counts = {part: layer.count_params() for part, layer in parts.items()}
    projection = model.backbone.embedding.projection
    counts["projection"] = projection.count_params() if projection else 0
    counts["embeddings"] -= counts["projection"]
    # The head's layer holds the embedding's table.
    counts["mlm_head"] -= config.vocabulary_size * config.embedding_dim
    stack = model.backbone.encoders
    for part in ("attention", "feed_forward"):
        sub_layers = {id(s): s for s in (getattr(e, part) for e in stack)}
        counts[part] = sum(layer.count_params() for layer in sub_layers.values())
    return counts, backbone.count_params(), model.count_params()


@pytest.fixture(autouse=True, scope="module")
def forget_variables():
    yield
    # Else the next stateless scope would initialize those of this module.
    keras.utils.clear_session()


@pytest.mark.parametrize(
    ("name", "changes"),
    [(name, {}) for name in PRESETS]
    + [("albert_xlarge_v1", {"sharing": sharing}) for sharing in SHARING[1:]],
)
def test_every_preset_is_built_as_counted(name, changes):
    config = AlbertConfig.from_preset(name, **changes)
    table, num_backbone, num_model = count_built_parameters(config)
    assert table == parameter_table(config)
    assert num_backbone == count_parameters(config)
    assert num_model == sum(table.values())


@pytest.mark.parametrize("sharing", SHARING)
@pytest.mark.parametrize(("num_layers", "num_groups"), [(18, 14), (7, 3), (5, 11)])
def test_groups_are_built_as_counted(num_layers, num_groups, sharing):
    config = make_config(
        num_layers=num_layers,
        num_groups=num_groups,
        num_inner_repetitions=2,
        sharing=sharing,
    )
    assert count_built_parameters(config)[0] == parameter_table(config)


def test_the_table_follows_the_data_path():
    assert list(parameter_table(make_config())) == [
        "embeddings",
        "projection",
        "attention",
        "feed_forward",
        "pooler",
        "mlm_head",
        "sop_head",
    ]


def test_plot_has_the_parts_and_their_sum(tmp_path):
    pytest.importorskip("matplotlib")
    table = parameter_table(AlbertConfig.from_preset("albert_xxlarge_v2"))
    figure = plot_parameters({**table, "backbone": 1}, tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_bytes().startswith(b"<?xml")
    check_layout(figure)
    title = "222,595,584 parameters without the heads (hatched)"
    assert {title, "feed forward", "134,246,400"} <= texts_of(figure)
