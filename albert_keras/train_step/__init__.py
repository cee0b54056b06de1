"""Training step of `model.fit`, the same however its batch is divided."""

from albert_keras.train_step.exact import ExactTrainStep
from albert_keras.train_step.inference import infer
from albert_keras.train_step.losses import (
    HardestShare,
    SmoothedCrossentropy,
    WholeBatchLoss,
)
