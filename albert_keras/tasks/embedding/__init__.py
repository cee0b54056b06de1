"""Text embedding: training on pairs, and scores of pairs and of search."""

from albert_keras.tasks.embedding.reading import EmbeddingRows, RetrievalRows
from albert_keras.tasks.embedding.task import EmbeddingTask
