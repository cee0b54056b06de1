"""Bad options that were found by hand, each of which must be refused."""

_FOUND = {
    "finetune": (
        "--classifier-dropout 1",
        "--weight-decay -1",
        "--weight-decay nan",
        "--restarts -1",
        "--class-weights negative=0 positive=0",
        "--micro-batches 100",
        "--train m/absent.tsv",
        "--train m",
        "--checkpoint m/absent",
        "--tokenizer m/absent.model",
        "--run m/corpus.txt",
        "--run /",
    ),
    "prepare-data": (
        "--format tfrecord --dupe-factor 1000000000",
        "--num-shards 100000",
        "--tokenizer m/absent.model",
        "--output /",
        "--output m/corpus.txt",
        "--output fifo",
    ),
    "pretrain": (
        "--num-layers 100000",
        "--data m/absent",
        "--tokenizer m/absent.model",
        "--micro-batches 100",
        "--run /",
        "--weight-decay nan",
    ),
    "analyze": ("--num-layers 100000000000000000000",),
    "convert": ("--output /", "--output m/corpus.txt", "--output fifo"),
    "export": (
        "--output /",
        "--output fifo --format tflite",
        "--output /dev/null --format tflite",
        "--output m --format tflite",
        "--sequence-length 0",
    ),
    "predict": ("--output /dev/null/x.csv", "--output fifo", "--batch-size 0"),
    "train-vocabulary": (
        "--output /",
        "--output fifo",
        "--character-coverage 2",
        "--max-texts 0",
        "--vocabulary-size 1000000000000",
    ),
    "evaluate": ("--report m/corpus.txt", "--data m/absent"),
}

# The words of a case by its name.
CASES = {
    f"{command}:{words.replace(' ', '_')}": words.split()
    for command, all_words in _FOUND.items()
    for words in all_words
}
