"""Training step of `model.fit`, which does not depend on how its batch is divided."""

from albert_keras.train_step.exact import ExactTrainStep
from albert_keras.train_step.inference import infer
from albert_keras.train_step.losses import (
    HardestShare,
    SmoothedCrossentropy,
    WholeBatchLoss,
)
