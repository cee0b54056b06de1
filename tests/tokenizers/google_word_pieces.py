"""google-research/albert's word splitting and word pieces, step by step."""

import unicodedata


def is_punctuation(character):
    code = ord(character)
    ascii_symbol = 33 <= code <= 47 or 58 <= code <= 64 or 91 <= code <= 96
    if ascii_symbol or 123 <= code <= 126:
        return True
    return unicodedata.category(character).startswith("P")


def is_chinese(character):
    blocks = [
        (0x4E00, 0x9FFF),
        (0x3400, 0x4DBF),
        (0x20000, 0x2A6DF),
        (0x2A700, 0x2B73F),
        (0x2B740, 0x2B81F),
        (0x2B820, 0x2CEAF),
        (0xF900, 0xFAFF),
        (0x2F800, 0x2FA1F),
    ]
    return any(first <= ord(character) <= last for first, last in blocks)


def google_basic_tokens(text, lowercase=True):
    """google-research/albert `BasicTokenizer`, step by step."""
    cleaned = []
    for character in text:
        if character in "\t\n\r" or unicodedata.category(character) == "Zs":
            cleaned.append(" ")
        elif character not in "\0\ufffd" and (
            unicodedata.category(character) not in ("Cc", "Cf")
        ):
            cleaned.append(f" {character} " if is_chinese(character) else character)
    words = []
    for token in "".join(cleaned).strip().split():
        if lowercase:
            token = unicodedata.normalize("NFD", token.lower())
            token = "".join(c for c in token if unicodedata.category(c) != "Mn")
        words.append("".join(f" {c} " if is_punctuation(c) else c for c in token))
    return " ".join(words).split()


def google_word_pieces(vocabulary, word):
    """google-research/albert `WordpieceTokenizer` of one word."""
    if len(word) > 200:
        return ["[UNK]"]
    pieces, start = [], 0
    while start < len(word):
        end = len(word)
        while start < end:
            piece = ("##" if start else "") + word[start:end]
            if piece in vocabulary:
                break
            end -= 1
        if start == end:
            return ["[UNK]"]
        pieces.append(piece)
        start = end
    return pieces
