"""Arms of the paper's ablations, at a size for two cores, and the paper's own numbers."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

AVERAGE = "average of SQuAD 1.1, SQuAD 2.0, MNLI, SST-2 and RACE"


class Arm(NamedTuple):
    """One of the variants that an ablation compares.

    Attributes:
        about: str. The variant in words.
        options: Tuple of str, words of the command `pretrain`.
        paper: float. The paper's number of this variant, or None.
        growth: Tuple of `(share of the steps, num_layers)` of phases in which the shared
            layer is applied fewer times; the rest of the steps has all layers.
        documents: float in (0, 1]. Share of the training documents.
    """

    about: str
    options: tuple = ()
    paper: float | None = None
    growth: tuple = ()
    documents: float = 1.0


class Ablation(NamedTuple):
    """An experiment of several arms.

    Attributes:
        about: str. What it varies.
        arms: Dict of `Arm` by name.
        base: str. The arm that the others are compared with.
        options: Tuple of str, words of `pretrain` for all arms.
        source: str. Place of the paper's numbers; empty without any.
        equal: `"steps"`, or `"time"` for steps that take equally long.
        probes: Tuple of the sentence tasks that a linear probe is measured on.
        measured: Dict by measure of dicts by arm: the paper's accuracies, percent.
    """

    about: str
    arms: dict
    base: str
    options: tuple = ()
    source: str = ""
    equal: str = "steps"
    probes: tuple = ()
    measured: Mapping = MappingProxyType({})

    @property
    def paper(self):
        """The paper's numbers by arm, of the arms that have one."""
        return {n: a.paper for n, a in self.arms.items() if a.paper is not None}


def _depth(num_layers, *growth, paper=None, about=None):
    word = "application" if num_layers == 1 else "applications"
    return Arm(
        about or f"{num_layers} {word} of the shared layer",
        ("--num-layers", str(num_layers)),
        paper,
        growth,
    )


def _masking(about, masking, rate):
    return Arm(about, ("--masking", masking, "--masked-rate", rate))


def _pairs(about, objective, paper=None):
    return Arm(about, ("--sentence-pairs", objective), paper)


def _width(hidden_dim, paper):
    # Heads of 32 columns, as those of the base.
    words = ("--hidden-dim", hidden_dim, "--num-heads", hidden_dim // 32)
    about = f"hidden size {hidden_dim}, feed-forward size {4 * hidden_dim}"
    return Arm(about, tuple(map(str, words)), paper)


GROWN_3 = ((0.4, 1),)
GROWN_6 = ((0.4, 1), (0.2, 3))
GROWN_12 = ((0.4, 1), (0.2, 3), (0.15, 6))

ABLATIONS = {
    "embedding-size": Ablation(
        "width of the embedding, with all layers shared",
        {
            "16": Arm("an eighth of the hidden size", ("--embedding-dim", "16"), 79.0),
            "32": Arm("a quarter", ("--embedding-dim", "32"), 80.1),
            "64": Arm("half", ("--embedding-dim", "64"), 79.6),
            "128": Arm("the hidden size", ("--embedding-dim", "128"), 79.8),
        },
        "32",
        source="table 3, all-shared: widths 64, 128, 256, 768 for hidden size 768",
    ),
    "sharing": Ablation(
        "which parameters the layers share",
        {
            "all": Arm("all parameters", ("--sharing", "all"), 80.1),
            "attention": Arm("attention alone", ("--sharing", "attention"), 81.7),
            "ffn": Arm("feed-forward networks alone", ("--sharing", "ffn"), 80.2),
            "none": Arm("nothing, as BERT", ("--sharing", "none"), 81.6),
        },
        "all",
        source="table 4, embedding size 128",
    ),
    "groups": Ablation(
        "groups of layers, each with parameters of its own",
        {
            "1 group": Arm("all layers alike", ("--num-groups", "1")),
            "2 groups": Arm("groups of two layers", ("--num-groups", "2")),
            "4 groups": Arm("groups of one layer", ("--num-groups", "4")),
        },
        "1 group",
        options=("--num-layers", "4"),
    ),
    "depth": Ablation(
        "applications of the shared layer, for equal steps",
        {
            "1": _depth(1, paper=52.9),
            "3": _depth(3, paper=71.2),
            "6": _depth(6, paper=77.2),
            "12": _depth(12, paper=81.5),
        },
        "3",
        source="table 11, where 3 layers and more start from fewer",
    ),
    "depth-growth": Ablation(
        "applications of the shared layer for equal time, from the start or grown",
        {
            "1": _depth(1, paper=52.9),
            "3": _depth(3),
            "6": _depth(6),
            "12": _depth(12),
            "3 grown": _depth(3, *GROWN_3, paper=71.2, about="1, then 3"),
            "6 grown": _depth(6, *GROWN_6, paper=77.2, about="1, 3, then 6"),
            "12 grown": _depth(12, *GROWN_12, paper=81.5, about="1, 3, 6, then 12"),
        },
        "3",
        source="table 11, for equal steps of each depth",
        equal="time",
    ),
    "warm-start": Ablation(
        "six applications for equal time, from random weights or a shallower model",
        {
            "random": _depth(6, about="random weights"),
            "after 1": _depth(6, (0.5, 1), about="half of the steps with 1"),
            "after 3": _depth(6, (0.5, 3), about="half of the steps with 3"),
        },
        "random",
        equal="time",
    ),
    "width": Ablation(
        "hidden size, for equal steps",
        {
            "64": _width(64, 71.2),
            "128": _width(128, 74.6),
            "256": _width(256, 76.3),
            "384": _width(384, 74.0),
        },
        "128",
        source="table 12, hidden sizes 1024, 2048, 4096, 6144",
    ),
    "dropout": Ablation(
        "dropout in pretraining",
        {
            "0": Arm("none", ("--dropout", "0"), 90.7),
            "0.1": Arm("hidden values and attention", ("--dropout", "0.1"), 90.4),
        },
        "0",
        source="table 8, xxlarge",
    ),
    "sentence-task": Ablation(
        "task of the sentence pairs",
        {
            "none": _pairs("masked tokens alone", "none", 79.0),
            "nsp": _pairs("following, or of another document", "nsp", 79.2),
            "sop": _pairs("in order, or swapped", "sop", 80.1),
            "ternary": _pairs("following, swapped, or of another document", "ternary"),
            "distant": _pairs("following, or distant in the document", "distant"),
        },
        "none",
        source="table 5",
        probes=("nsp", "sop"),
        measured={
            "mlm_accuracy": {"none": 54.9, "nsp": 54.5, "sop": 54.0},
            "probe_nsp": {"none": 52.4, "nsp": 90.5, "sop": 78.9},
            "probe_sop": {"none": 53.3, "nsp": 52.0, "sop": 86.5},
        },
    ),
    "masking": Ablation(
        "what is masked together, and how much",
        {
            "token": _masking("tokens, 20 %", "token", "0.2"),
            "whole word": _masking("whole words, 20 %", "whole_word", "0.2"),
            "n-gram": _masking("up to three words, 20 %", "ngram", "0.2"),
            "token 10 %": _masking("tokens, 10 %", "token", "0.1"),
            "token 40 %": _masking("tokens, 40 %", "token", "0.4"),
        },
        "token",
    ),
    "more-data": Ablation(
        "documents to train on, for equal steps",
        {
            "a tenth": Arm("a tenth of the documents", (), 80.1, documents=0.1),
            "a third": Arm("a third of the documents", documents=0.33),
            "all": Arm("all documents", (), 80.8),
        },
        "all",
        source="table 7, Wikipedia and books, and with further data",
    ),
    "optimizer": Ablation(
        "optimizer, each with a learning rate of its own that was not searched for",
        {
            "adamw": Arm("learning rate 0.003", ("--optimizer", "adamw")),
            "lamb": Arm(
                "learning rate 0.006",
                ("--optimizer", "lamb", "--learning-rate", "0.006"),
            ),
        },
        "adamw",
    ),
}
