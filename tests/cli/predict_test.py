"""`predict`: where its texts come from."""

import types

from albert_keras.cli.predict import given_texts


def test_a_file_given_as_text_is_noted_and_a_long_text_is_no_file(tmp_path, capsys):
    file = tmp_path / "reviews.csv"
    file.write_text("text\n")
    for text, is_noted in ((str(file), True), ("storms and gulls " * 99, False)):
        arguments = types.SimpleNamespace(texts=[text], input=None)
        assert given_texts(arguments, None) == [text]
        assert ("is taken as a text" in capsys.readouterr().err) == is_noted
