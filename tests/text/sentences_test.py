"""Sentence splitting: ends of sentences, and full stops that are not."""

import pytest

from albert_keras.text.sentences import split_paragraphs, split_sentences


@pytest.mark.parametrize(
    "sentences",
    [
        ["It rains.", "It pours!", "Does it?", "2 days pass."],
        ['He said: "Go!"', '"Why?" she asked.', "(Nobody knew.)", "All left."],
        ["Mr. Smith met Dr. J. R. Jones of the U.S. Army on Jan. 5.", "They spoke."],
        [
            "Prices rose by 3.5 percent at example.com, e.g. Tuesday.",
            "See fig. 2 there.",
        ],
        ["Wait... what is it?", "Well…", "Nothing."],
        ["It may grow to 60 cm ( 24 in ) .", "In life , it is blue ."],
        ["He came at once!?", "“Really?”", "‘Yes.’"],
        ["It cost 3.", "U.S.A. officials paid.", "(“Who?”)", "They."],
        ["No mark at the end"],
    ],
)
def test_joined_sentences_are_split_again(sentences):
    assert split_sentences(" ".join(sentences)) == sentences


@pytest.mark.parametrize(
    "sentences",
    [
        ["今天下雨。", "你去吗？", "不去！", "3天后再说。"],
        ["他说：“走吧！”", "她走了。", "「好。」", "没有句号"],
        ["車站編號為10。", "其中JR貨物會用3.5米的站台。"],
    ],
)
def test_chinese_sentences_need_no_space(sentences):
    assert split_sentences("".join(sentences)) == sentences


def test_white_space_is_not_a_sentence():
    assert split_sentences(" \t ") == []
    assert split_sentences("  One.   Two.  ") == ["One.", "Two."]


def test_a_paragraph_ends_a_sentence():
    text = "A heading\r\nOne. Two\n\n \u2028Three goes on\nin a line."
    expected = ["A heading", "One.", "Two", "Three goes on", "in a line."]
    assert split_paragraphs(text) == expected
