"""Preprocessing of raw text for classifiers, regression and embedders."""

import keras
import keras_hub

from albert_keras.preprocessors.segment_packer import PacksSegments


@keras.saving.register_keras_serializable(package="albert_keras")
class AlbertTextClassifierPreprocessor(
    PacksSegments, keras_hub.models.TextClassifierPreprocessor
):
    """Tokenizes and packs texts as `[CLS] text [SEP]` or `[CLS] text [SEP] pair [SEP]`.

    Takes all arguments of keras-hub's preprocessor. `fit` on strings, fine-tuning runs
    and exported models pack by the same functions.

    Args:
        takes_pairs: bool. Whether the model was trained on pairs of texts. Then exported
            models take pairs. Default False.
        **kwargs: Arguments of keras-hub's class.

    Output shape:
        Dict of int32 arrays `(batch, sequence_length)`: `token_ids`, `segment_ids`, and
        `padding_mask`, true on real tokens.
    """

    def __init__(self, tokenizer, *args, takes_pairs=False, **kwargs):
        super().__init__(tokenizer, *args, **kwargs)
        self.takes_pairs = takes_pairs

    def get_config(self):
        return {**super().get_config(), "takes_pairs": self.takes_pairs}


@keras.saving.register_keras_serializable(package="albert_keras")
class AlbertTextEmbedderPreprocessor(
    PacksSegments, keras_hub.models.TextEmbedderPreprocessor
):
    """Tokenizes and packs texts as `[CLS] text [SEP]`.

    Takes all arguments of keras-hub's preprocessor.

    Args:
        tokenizer: A tokenizer of this package.
        sequence_length: int. Tokens of a row, special tokens and padding included.
            Default 256, as in keras-hub. `from_preset` and `load_checkpoint` set the
            model's length.
        **kwargs: Other arguments of keras-hub's class.

    Output shape:
        Dict of int32 arrays `(batch, sequence_length)`: `token_ids`, `segment_ids`, and
        `padding_mask`, true on real tokens.
    """

    def _format_output(self, token_ids, segment_ids):
        padding_mask = token_ids != self.tokenizer.pad_token_id
        ids = {"token_ids": token_ids, "segment_ids": segment_ids}
        return {**ids, "padding_mask": padding_mask}
