"""Compute the vectors of the texts in a file, and write them.

The model is an embedder, or an exported embedder. The file has a text in each line, or is
a table with a column of texts. A `.npy` file gets the vectors in the order of the texts,
a `.parquet` file the texts too. The memory that is needed does not grow with the file. If
the command was interrupted, repeat it: it resumes.

examples:
  albert-keras embed hf://USER/MODEL questions.txt --output questions.npy
  albert-keras embed embedder.tflite reviews.csv --output reviews.parquet
"""

from albert_keras import runs
from albert_keras.cli.options import add_option, config_from
from albert_keras.cli.results import print_results
from albert_keras.runs.finetuning_config import BatchOptions, RowOptions

USAGE = "MODEL FILE --output FILE [options]"


def add_arguments(parser):
    parser.add_argument(
        "model", help="run, exported model, or folder, name or address of a checkpoint"
    )
    parser.add_argument("file", help="file with a text in each line, or a table")
    parser.add_argument(
        "--output", required=True, help="file to write, .npy or .parquet"
    )
    parser.add_argument(
        "--prompt-name",
        help="prompt of the model before each text (default: the model's default)",
    )
    add_option(parser, BatchOptions, "batch_size")
    for name in ("text_column", "encoding", "errors"):
        add_option(parser, RowOptions, name)


def run(arguments):
    results = runs.embed_file(
        arguments.model,
        arguments.file,
        arguments.output,
        batch_size=arguments.batch_size,
        prompt_name=arguments.prompt_name,
        reading=config_from(arguments, RowOptions),
    )
    print_results("vectors", results, arguments.json)
