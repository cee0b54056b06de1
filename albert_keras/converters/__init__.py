"""Loading and saving of checkpoints, one file a source, and changes of architecture."""

from albert_keras.converters.architecture import change_architecture, resize_vocabulary
from albert_keras.converters.loading import load_checkpoint
from albert_keras.converters.recognition import CONVERTERS, SOURCES
from albert_keras.converters.saving import CHECKPOINT_FORMATS, save_checkpoint
