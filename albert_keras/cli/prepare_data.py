r"""Convert text to a token store for pretraining, or to examples as TFRecords.

Text files have a sentence in each line and a blank line between documents. JSONL files
have a document in each line, as `text`; Parquet files and TFDS data sets (`tfds:name`)
have one in each row. Folders and globs stand for their files. `.gz` is read directly.

Some documents are held out, in the folder held_out of the output, where `pretrain --data`
finds them. After an interruption the same command resumes from finished work in the
output folder.

examples:
  albert-keras prepare-data corpus/ --tokenizer 30k.model --output tokens/
  albert-keras prepare-data s3://bucket/texts --tokenizer 30k.model \
      --output s3://bucket/tokens
  albert-keras prepare-data news/ --tokenizer 30k.model --output records/ \
      --format tfrecord --validation-split 0
"""

from albert_keras import analysis
from albert_keras.cli.options import add_options, config_from
from albert_keras.cli.results import print_results
from albert_keras.options import check_unused
from albert_keras.pretraining.jobs import DATA_FORMATS
from albert_keras.runs.preparation import PreparationOptions

USAGE = "TEXT ... --tokenizer MODEL --output FOLDER [options]"


def add_arguments(parser):
    parser.add_argument(
        "texts", nargs="+", help="files, folders, globs or tfds:name[/config][:split]"
    )
    parser.add_argument("--output", required=True, help="folder for the files")
    parser.add_argument(
        "--format",
        default="store",
        choices=DATA_FORMATS,
        help="store: token ids, pairs and masks are drawn again in each epoch; "
        "tfrecord: finished examples, for other programs (default: store)",
    )
    parser.add_argument(
        "--plot", help="plot of the report, .png, .svg or .pdf (default: none)"
    )
    add_options(parser, PreparationOptions)


def run(arguments):
    if arguments.plot:
        analysis.check_image_path(arguments.plot)
    options = config_from(arguments, PreparationOptions)
    if arguments.format == "store":
        check_unused(vars(arguments), ["dupe_factor"], "a token store")
    report = options.prepare(
        arguments.texts,
        options.load_tokenizer(),
        arguments.output,
        format=arguments.format,
    )
    if arguments.plot:
        analysis.plot_data_report(report.to_dict(), arguments.plot)
    results = {"output": arguments.output, **report.to_dict()}
    print_results("pretraining data", results, arguments.json)
