"""Preparation of pretraining data from text."""

import dataclasses
from collections.abc import Mapping

from albert_keras import tokenizers
from albert_keras.options import SEEDS, Options, Range, members_of, option
from albert_keras.pretraining import (
    RUNNERS,
    PretrainingDataConfig,
    prepare_pretraining_data,
)
from albert_keras.system.processor import usable_cores
from albert_keras.system.progress import show_stages
from albert_keras.text import ENCODING_ERRORS, FORMATS, open_corpus

_DATA_OPTIONS = {
    field.name: field.metadata["help"]
    for field in dataclasses.fields(PretrainingDataConfig)
    if field.name != "seed"
} | {"favor_shorter": "draw long n-grams more often than short ones (default: off)"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class TokenizerOptions(Options):
    """Tokenizer."""

    tokenizer: str = option(
        "SentencePiece model, vocab.txt, a folder with either, a preset, or a name or "
        "address of a checkpoint"
    )
    cased: bool = option("keep capital letters", False)
    keep_accents: bool = option("keep accents", False)

    def load_tokenizer(self, path=None):
        """Loads the tokenizer of a path or run. Default: that of `tokenizer`."""
        return tokenizers.load_tokenizer(
            self.tokenizer if path is None else path,
            lowercase=False if self.cased else None,
            strip_accents=False if self.keep_accents else None,
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelTokenizerOptions(TokenizerOptions):
    """Tokenizer of a model, which may have its own."""

    tokenizer: str | None = option(
        "SentencePiece model, vocab.txt, tokenizer.json, folder with one of them, "
        "preset, name or address (default: that of the checkpoint)",
        None,
    )

    def given_tokenizer(self, checkpoint):
        """Loads the tokenizer if an option of it is given; otherwise returns `None`."""
        if not (self.tokenizer or self.cased or self.keep_accents):
            return None
        return self.load_tokenizer(self.tokenizer or checkpoint)


@dataclasses.dataclass(frozen=True, kw_only=True)
class CorpusOptions(Options):
    """Files of text."""

    text_format: str | None = option(
        "format of all texts (default: by suffix)", None, choices=FORMATS
    )
    text_column: str | None = option(
        "column with the text in JSONL, Parquet and TFDS (default: text)", None
    )
    errors: str | None = option(
        "bytes that are not UTF-8 (default: strict, an error)",
        None,
        choices=ENCODING_ERRORS,
    )

    def open_corpus(self, sources):
        """Returns the `Corpus` of files, folders, globs or TFDS names."""
        return open_corpus(
            sources,
            format=self.text_format,
            errors=self.errors or "strict",
            text_column=self.text_column or "text",
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class PreparationOptions(TokenizerOptions, CorpusOptions):
    """Preparation of text."""

    seed: int = option("seed of all random numbers", 0, SEEDS)
    data_options: Mapping = option(
        "fields of `PretrainingDataConfig` that differ from its defaults",
        members=members_of(PretrainingDataConfig, _DATA_OPTIONS),
    )
    validation_split: float | None = option(
        "share of the text's documents to hold out, or 0 for none (default: 0.05, at "
        "most about 100,000 tokens)",
        None,
        Range(0, 0.9),
    )
    workers: int | None = option(
        "processes on this machine (default: one per core)", None, Range(1, 256)
    )
    runner: str | None = option(
        "Apache Beam runner, instead of processes (extra `beam`, for Dask `dask`); its "
        "workers must see text and output under the same paths",
        None,
        choices=RUNNERS,
    )
    runner_option: tuple = option(
        "option of the runner, such as =--direct_num_workers=2; may be repeated", ()
    )

    @property
    def data_config(self):
        """The `PretrainingDataConfig` for the text."""
        return PretrainingDataConfig(**self.data_options, seed=self.seed)

    def prepare(self, texts, tokenizer, output, *, format="store", holds_out=True):
        """Prepares text, shows the progress on standard error, and returns the report.

        Held-out documents are in `held_out` of `output`. Finished data stay as they are.

        Args:
            texts: List of files, folders, globs or TFDS names.
            tokenizer, output, format: As for `prepare_pretraining_data`.
            holds_out: bool. Whether to hold out documents. Default True.
        """
        with show_stages() as progress:
            return prepare_pretraining_data(
                self.open_corpus(texts),
                tokenizer,
                output,
                self.data_config,
                format=format,
                validation_split=self.validation_split if holds_out else 0,
                num_workers=self.workers or usable_cores(),
                runner=self.runner,
                runner_options=list(self.runner_option),
                progress=progress,
            )
