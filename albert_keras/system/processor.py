"""The cores, and environment variables by which TensorFlow makes good use of them."""

import functools
import logging
import os
import sys

# Read by TensorFlow when it is imported, where the user has not set it.
# - It uses oneDNN only on processors with AVX-512 VNNI. But with AVX2 too the products of
#   attention are three times as fast with it: a step takes 6 to 24 % less time.
# - It returns the memory of tensors to the system, which clears each page before it is
#   used again. With the allocator that it has for GPUs it keeps the memory: a step of a
#   small model takes 2 to 8 % less time, and 40 % less where clearing is slow. Of the
#   memory of large machines it would by default use 64 GiB: here it is limited to 1 TiB.
ENVIRONMENT = {
    "TF_ENABLE_ONEDNN_OPTS": "1",
    "TF_CPU_ALLOCATOR_USE_BFC": "true",
    "TF_CPU_BFC_MEM_LIMIT_IN_MB": str(2**20),
}


def set_variables():
    """Sets those that are not set, unless TensorFlow is imported already."""
    if "tensorflow" not in sys.modules:
        for name, value in ENVIRONMENT.items():
            os.environ.setdefault(name, value)


@functools.cache
def hint_at_variables():
    """Logs one line, once, if TensorFlow was imported before they could be set."""
    missing = [f"{n}={v}" for n, v in ENVIRONMENT.items() if n not in os.environ]
    if missing:
        # No Python warning, which some programs turn into an error.
        logging.getLogger("albert_keras").warning(
            "Training on processors is up to 40 %% faster if albert_keras is imported "
            "before TensorFlow and Keras, or if %s is set before.",
            " ".join(missing),
        )


def usable_cores():
    """Returns the number of cores this process may use; all if unknown."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
