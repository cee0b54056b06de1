"""Text files to documents or rows, and batches of rows of like length."""

from typing import TYPE_CHECKING

from albert_keras.lazy import lazy_names

if TYPE_CHECKING:
    from albert_keras.text.corpus import open_corpus, read_documents
    from albert_keras.text.examples import Examples
    from albert_keras.text.length_buckets import (
        evaluation_batches,
        make_buckets,
        one_bucket,
        training_dataset,
    )
    from albert_keras.text.sentences import split_sentences
    from albert_keras.text.sources import FORMATS
    from albert_keras.text.text_files import ENCODING_ERRORS, read_lines

__getattr__, __dir__, __all__ = lazy_names(__spec__)
