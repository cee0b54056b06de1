"""`predict`: where its texts come from."""

import types

from albert_keras.cli.predict import as_line, given_texts


def test_a_file_given_as_text_is_noted_and_a_long_text_is_no_file(tmp_path, capsys):
    file = tmp_path / "reviews.csv"
    file.write_text("text\n")
    for text, is_noted in ((str(file), True), ("storms and gulls " * 99, False)):
        arguments = types.SimpleNamespace(texts=[text], input=None)
        assert given_texts(arguments, None) == [text]
        assert ("is taken as a text" in capsys.readouterr().err) == is_noted


def test_entities_are_printed_with_their_places():
    entity = {"text": "Ann", "type": "PER", "start": 1, "end": 4, "score": 0.256}
    row = {"text": "(Ann)", "label": "(/O Ann/B-PER )/O", "entities": [entity, entity]}
    assert as_line(row) == "Ann PER[1:4] 0.26, Ann PER[1:4] 0.26\t(Ann)"
    assert as_line({"text": "so", "label": "so/O", "entities": []}) == "\tso"
    assert as_line({"text": "so", "label": "so/ADV"}) == "so/ADV\tso"
