"""Options of data preparation, and the cores that do it."""

from albert_keras.pretraining import PretrainingDataConfig
from albert_keras.runs.preparation import PreparationOptions


def test_a_preparation_from_python(vocabulary, tmp_path):
    text = tmp_path / "corpus.jsonl"
    text.write_text('{"body": "One. Two. Three."}\n{"body": "Four. Five. Six."}\n' * 3)
    options = PreparationOptions(
        tokenizer=vocabulary,
        text_column="body",
        data_options={"sequence_length": 23, "num_shards": 1},
        workers=1,
    )
    report = options.prepare([str(text)], options.load_tokenizer(), tmp_path / "data")
    assert report.num_documents == 6
    assert (tmp_path / "data" / "dataset.json").is_file()


def test_the_config_of_text_has_the_seed():
    options = PreparationOptions(
        tokenizer="a.model", seed=7, data_options={"masking": "token"}
    )
    assert options.data_config == PretrainingDataConfig(masking="token", seed=7)
