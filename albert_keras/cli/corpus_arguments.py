"""Arguments that say what text to read, and how."""

from albert_keras.text import ENCODING_ERRORS, FORMATS, open_corpus

# Names of the arguments.
CORPUS_ARGUMENTS = ("format", "text_column", "errors")


def add_corpus_arguments(parser):
    """Adds how files of text are read."""
    group = parser.add_argument_group("text")
    group.add_argument(
        "--format",
        choices=list(FORMATS),
        help="of all files; by default the suffix of each decides",
    )
    group.add_argument(
        "--text-column",
        help="where JSONL, Parquet and TFDS have the text (default: text)",
    )
    group.add_argument(
        "--errors",
        choices=list(ENCODING_ERRORS),
        help="what to do with bytes that are not UTF-8 (default: strict, an error)",
    )


def corpus_of(sources, arguments):
    """Returns the `Corpus` of `sources` as the arguments say."""
    return open_corpus(
        sources,
        format=arguments.format,
        errors=arguments.errors or "strict",
        text_column=arguments.text_column or "text",
    )
