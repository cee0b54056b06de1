"""Results of analyses as tables for people."""


def tabulate_similarity(results):
    """Returns the results of `measure_similarity` by model and layer, a dict."""
    return {
        f"{model['name']}, layer {depth}": f"L2 distance {distance:.4g}, "
        f"angle {angle:.3g} degrees"
        for model in results["models"]
        for depth, (distance, angle) in enumerate(
            zip(model["l2_distance"], model["angle"], strict=True), start=1
        )
    }


def tabulate_comparison(results):
    """Returns the results of `compare_curves`: last values, a dict."""
    return {
        f"{name}, {quantity}": f"{curve['values'][-1]:.4g} at step "
        f"{curve['steps'][-1]:,}"
        for name, series in results["runs"].items()
        for quantity, curve in series.items()
        if quantity.removeprefix("val_") in results["quantities"]
    }


def tabulate_pareto(results):
    """Returns the results of `measure_pareto` by variant, a dict."""
    return {
        variant["name"]: f"{variant['score']:.4g} {results['metric']}, "
        f"{variant['milliseconds']:.4g} ms a row"
        + (", on the front" if variant["name"] in results["front"] else "")
        for variant in results["variants"]
    }


def tabulate_sensitivity(results):
    """Returns the results of `measure_sensitivity` by variant, a dict."""
    metric, table = results["metric"], {}
    table[f"whole model, {results['num_rows']:,} rows"] = f"{results['score']:.4g}"
    named = [(f"cut at layer {each['depth']}", each) for each in results["depths"][:-1]]
    named += [(each["name"], each) for each in results["quantization"]]
    named += [(f"without {_head_name(each)}", each) for each in results["heads"]]
    named += [
        (f"without {each['num_heads']} heads", each) for each in results["pruned"][1:]
    ]
    return table | {
        name: f"{each['score']:.4g} {metric}, cost {each['cost']:+.4g}"
        for name, each in named
    }


def _head_name(head):
    layers = ", ".join(map(str, head["layers"]))
    return f"head {head['head']} of layer {layers}"
