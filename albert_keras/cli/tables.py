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
