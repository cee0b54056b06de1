"""Statistics of the arms of an experiment, paired by seed."""

import itertools
import statistics

# Held-out nats below the loss of unigrams from which on a model has learned of context.
# Topics and frequencies alone give less.
PLATEAU_MARGIN = 0.1


def compare_arms(runs, measures, base):
    """Compares the arms of an experiment with one of them.

    Args:
        runs: Dict by arm of dicts by seed of dicts of the numbers measured.
        measures: List of str. Names of these numbers; a run may lack some.
        base: str. The arm that the others are compared with.

    Returns:
        Dict by arm: `seeds`, the number of its runs; and by measure a dict of `mean`,
        `difference` from the base over the seeds that both have, and its
        `standard_error`, None for one seed.

    Example:

    >>> runs = {"base": {"0": {"loss": 5.0}, "1": {"loss": 6.0}},
    ...         "wide": {"0": {"loss": 4.5}, "1": {"loss": 5.0}}}
    >>> compare_arms(runs, ["loss"], "base")["wide"]["loss"]
    {'mean': 4.75, 'difference': -0.75, 'standard_error': 0.25}
    """
    compared = {}
    for arm in runs:
        compared[arm] = {"seeds": len(runs[arm])}
        for measure in measures:
            differences = paired_differences(runs, measure, arm, base)
            if differences:
                own = [run[measure] for run in runs[arm].values() if measure in run]
                compared[arm][measure] = {
                    "mean": statistics.mean(own),
                    "difference": statistics.mean(differences),
                    "standard_error": standard_error(differences),
                }
    return compared


def paired_differences(runs, measure, arm, base):
    """Returns the differences of two arms, one for each seed that both have."""
    of_arm, of_base = (
        {seed: run[measure] for seed, run in runs[name].items() if measure in run}
        for name in (arm, base)
    )
    return [of_arm[seed] - of_base[seed] for seed in sorted({*of_arm} & {*of_base})]


def standard_error(values):
    """Returns the standard error of a mean, None for one value."""
    if len(values) < 2:
        return None
    return statistics.stdev(values) / len(values) ** 0.5


def describe_difference(found, scale=1, digits=3, unit=""):
    """Returns a mean, and the difference from the base with its standard error.

    Args:
        found: Dict of a measure, as `compare_arms` returns it, or None.
        scale: Number that all are multiplied by.
        digits: int. Decimals.
        unit: str, after the mean.

    Returns:
        Tuple of two str, `"-"` without numbers.

    >>> describe_difference({"mean": 4.75, "difference": -0.75, "standard_error": 0.25})
    ('4.750', '-0.750 ± 0.250')
    """
    if found is None:
        return "-", "-"
    mean, difference = scale * found["mean"], scale * found["difference"]
    described = f"{difference:+.{digits}f}"
    if found["standard_error"] is not None:
        described += f" ± {scale * found['standard_error']:.{digits}f}"
    return f"{mean:.{digits}f}{unit}", described


def draw_differences(axes, compared, arms, measure, scale=1):
    """Draws differences from the base with their standard errors, an arm a row.

    Args:
        axes: `matplotlib.axes.Axes`.
        compared: What `compare_arms` returns.
        arms: List of str, from top to bottom.
        measure: str. Arms without it have an empty row.
        scale: Number that all are multiplied by.
    """
    axes.axvline(0, color="0.6", linewidth=1)
    for y, name in enumerate(arms):
        if found := compared.get(name, {}).get(measure):
            error = scale * (found["standard_error"] or 0)
            x = scale * found["difference"]
            axes.errorbar(x, y, xerr=error, fmt="o", color="0.15", capsize=3)
    axes.grid(axis="x", color="0.9")


def check_orderings(runs, measure, paper, *, lower_is_better):
    """Checks which orderings of a paper's arms hold in an experiment.

    Two arms are told apart where the 95 % interval of their mean difference, by
    Student's t over the seeds that both have, excludes 0: with three seeds where the
    difference is more than 4.3 standard errors.

    Args:
        runs: As of `compare_arms`.
        measure: str. The number that is compared.
        paper: Dict by arm of the paper's numbers, of which more is better.
        lower_is_better: bool. Whether less of `measure` is better.

    Returns:
        List of dicts for each two arms with different numbers of the paper: `better` and
        `worse`, by the paper; `paper`, their difference there; `difference`,
        `standard_error`; and `verdict`: `"holds"`, `"reversed"` or `"cannot be told"`.
    """
    found = []
    known = [arm for arm in runs if paper.get(arm) is not None]
    for one, other in itertools.combinations(known, 2):
        worse, better = sorted((one, other), key=paper.get)
        differences = paired_differences(runs, measure, better, worse)
        if paper[worse] == paper[better] or len(differences) < 2:
            continue
        mean, error = statistics.mean(differences), standard_error(differences)
        interval = error * _t_quantile(len(differences) - 1)
        gain = -mean if lower_is_better else mean
        told = abs(gain) > interval
        found.append(
            {
                "better": better,
                "worse": worse,
                "paper": round(paper[better] - paper[worse], 3),
                "difference": mean,
                "standard_error": error,
                "verdict": ("holds" if gain > 0 else "reversed")
                if told
                else "cannot be told",
            }
        )
    return found


def _t_quantile(degrees_of_freedom):
    from scipy import stats

    return float(stats.t.ppf(0.975, degrees_of_freedom))


def split_by_plateau(runs, measure, unigram_loss):
    """Separates arms that learned from context from those that did not.

    Args:
        runs: As of `compare_arms`.
        measure: str. The loss, nats a masked token.
        unigram_loss: float. Loss of predicting by frequency alone.

    Returns:
        Tuple of two dicts: the runs of the arms all of whose seeds are at least
        `PLATEAU_MARGIN` below it; and of each other arm the losses by seed of those that
        are not.
    """
    stuck = {
        arm: {
            seed: run[measure]
            for seed, run in of_arm.items()
            if run[measure] > unigram_loss - PLATEAU_MARGIN
        }
        for arm, of_arm in runs.items()
    }
    left = {arm: of_arm for arm, of_arm in runs.items() if not stuck[arm]}
    return left, {arm: losses for arm, losses in stuck.items() if losses}
