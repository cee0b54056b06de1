"""Environment variables that make TensorFlow faster on CPUs; the number of cores."""

import functools
import os
import sys

# TensorFlow reads these variables when it is imported. Values of the user are kept.
# - oneDNN is on by default only on processors with AVX-512 VNNI. With AVX2 it computes
#   the products of attention 3 times as fast: a step takes 6 to 24 % less time.
# - By default, TensorFlow returns the memory of tensors to the system, which clears each
#   page before it is used again. The GPU allocator (BFC) keeps the memory: a step of a
#   small model takes 2 to 8 % less time, and 40 % less where clearing is slow. Its
#   default limit on large machines is 64 GiB; 1 TiB is set here.
ENVIRONMENT = {
    "TF_ENABLE_ONEDNN_OPTS": "1",
    "TF_CPU_ALLOCATOR_USE_BFC": "true",
    "TF_CPU_BFC_MEM_LIMIT_IN_MB": str(2**20),
}


def set_variables():
    """Sets the variables that are not set, unless TensorFlow is already imported."""
    if "tensorflow" not in sys.modules:
        for name, value in ENVIRONMENT.items():
            os.environ.setdefault(name, value)


@functools.cache
def hint_at_variables():
    """Logs one line, once, if TensorFlow was imported before they could be set."""
    missing = [f"{n}={v}" for n, v in ENVIRONMENT.items() if n not in os.environ]
    if missing:
        import logging  # Not at the top: it doubles the time of `import albert_keras`.

        # Not a Python warning, because some programs turn warnings into errors.
        logging.getLogger("albert_keras").warning(
            "Training on processors is up to 40 %% faster if albert_keras is imported "
            "before TensorFlow and Keras, or if %s is set before.",
            " ".join(missing),
        )


def usable_cores():
    """Returns the number of cores that this process may use, or else of all cores."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
