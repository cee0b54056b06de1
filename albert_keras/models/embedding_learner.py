"""Training of an embedder on rows of several texts, such as pairs."""

import keras
import numpy as np
from keras import ops

from albert_keras.models.text_embedder import AlbertTextEmbedder
from albert_keras.preprocessors.texts import numbers_of
from albert_keras.train_step import ExactTrainStep


class EmbeddingLearner(ExactTrainStep, keras.Model):
    """Model that trains an embedder on rows of several texts.

    Args:
        embedder: `AlbertTextEmbedder` to train.

    Input shape:
        The backbone's dict with an axis for the texts of a row, `(batch, num_texts,
        sequence_length)`.

    Output shape:
        `(batch, num_texts, embedding_dim)`, float32 under mixed precision.

    Example:

    ```python
    questions, answers = ["Is it warm?", "Who came?"], ["It is hot.", "Ann came."]
    embedder = ak.AlbertTextEmbedder.from_preset("albert_nano_en")
    learner = ak.models.EmbeddingLearner(embedder)
    loss = ak.models.ContrastiveLoss()
    learner.compile(ak.AdamW(1e-3), loss, micro_batches=2)
    learner.fit(*learner.rows_of(questions, answers), batch_size=1024, verbose=0)
    embedder.encode_text("Is it warm?")
    ```
    """

    def __init__(self, embedder: AlbertTextEmbedder, **kwargs):
        super().__init__(**kwargs)
        self.embedder = embedder
        self.built = True

    @property
    def trainable_variables(self):
        return self.embedder.trainable_variables

    trainable_weights = trainable_variables

    def call(self, inputs, training=False):
        rows = {
            name: ops.reshape(x, (-1, ops.shape(x)[-1])) for name, x in inputs.items()
        }
        vectors = self.embedder(rows, training=training)
        num_texts = ops.shape(inputs["token_ids"])[1]
        return ops.reshape(vectors, (-1, num_texts, vectors.shape[-1]))

    def rows_of(self, *columns):
        """Returns inputs and targets for `fit` with `ContrastiveLoss`.

        The targets are numbers of the texts, `(num_rows, num_texts)`, equal for equal
        texts.

        Args:
            *columns: Lists of str of the same length: first texts, second texts, and
                optional hard negatives. The embedder needs a preprocessor.
        """
        packed = [self.embedder.preprocessor(list(column)) for column in columns]
        names = self.embedder.backbone.input
        inputs = {n: np.stack([np.asarray(p[n]) for p in packed], 1) for n in names}
        return inputs, numbers_of(columns)
