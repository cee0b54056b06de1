"""Writer of Hugging Face's tokenizer files, by their library `tokenizers`."""

import unicodedata

import tokenizers

from albert_keras.system.files import write_json
from albert_keras.tokenizers.sentence_piece_model import (
    BYTES,
    WORD_MARKER,
    character_map,
    load_processor,
    parse_model,
    peculiarities,
)
from albert_keras.tokenizers.word_piece_encoder import CONTINUATION, MAX_WORD_LENGTH

TOKENIZER_FILE = "tokenizer.json"
CONFIG_FILE = "tokenizer_config.json"
# transformers' converter subtracts this from the scores of pieces such as "2012,", so
# that they are split as in Google's code.
DIGIT_COMMA_PENALTY = 100
QUOTES = ("``", "''")


def write_tokenizer_files(tokenizer, max_sequence_length, folder):
    """Writes `tokenizer_config.json` and `tokenizer.json` for transformers.

    transformers 5 makes the rules of `AlbertTokenizer` itself. Where they differ, the
    files name a general class.

    Raises:
        ValueError: If transformers would give other ids.
    """
    is_unigram = hasattr(tokenizer.encoder, "proto")
    fast, options = (_make_unigram if is_unigram else _make_word_piece)(tokenizer)
    *_, start, end, mask = tokenizer.special_tokens
    names = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    fast.post_processor = tokenizers.processors.TemplateProcessing(
        single=f"{start} $A {end}",
        pair=f"{start} $A {end} $B:1 {end}:1",
        special_tokens=[(t, tokenizer.token_to_id(t)) for t in (start, end)],
    )
    fast.add_special_tokens(
        [
            tokenizers.AddedToken(token, lstrip=token == mask, normalized=False)
            for token in tokenizer.special_tokens
        ]
    )
    (folder / TOKENIZER_FILE).write_text(fast.to_str(pretty=True), "utf-8")
    values = {
        "model_max_length": max_sequence_length,
        # Without this list transformers 5 returns no segments of pairs.
        "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
        **dict(zip(names, tokenizer.special_tokens, strict=True)),
        **options,
    }
    write_json(folder / CONFIG_FILE, values)


def _make_unigram(tokenizer):
    """Returns a tokenizer of `tokenizers`, and options of `tokenizer_config.json`."""
    encoder, vocabulary = tokenizer.encoder, tokenizer.get_vocabulary()
    rules = encoder.preprocessing
    found = peculiarities(encoder.proto)
    unlike = [name for name in found if name != BYTES]
    if any(WORD_MARKER in piece[1:] for piece in vocabulary):
        unlike.append("pieces of several words")
    if not parse_model(encoder.proto).normalizer_spec.remove_extra_whitespaces:
        unlike.append("white space of any length")
    if rules["strip_accents"] and any(map(_is_lost, "".join(vocabulary))):
        unlike.append("vowel signs, which transformers strips as accents")
    if unlike:
        raise ValueError(
            "transformers must give the same ids: it reads plain SentencePiece unigram "
            f"models. Received: a model with {', '.join(unlike)}. Save it in another "
            "format."
        )
    scores = load_processor(encoder.proto).GetScore([*range(len(vocabulary))])
    for index in encoder.digit_comma_splits:
        scores[index] -= DIGIT_COMMA_PENALTY
    model = tokenizers.models.Unigram(
        [*zip(vocabulary, scores, strict=True)], tokenizer.unk_token_id, BYTES in found
    )
    fast = tokenizers.Tokenizer(model)
    known, steps = tokenizers.normalizers, []
    if rules["huggingface_quotes"]:
        steps += [known.Replace(quotes, '"') for quotes in QUOTES]
    if rules["strip_accents"]:
        steps += [known.NFKD(), known.StripAccents()]
    if rules["lowercase"]:
        steps.append(known.Lowercase())
    if characters := character_map(encoder.proto):
        steps.append(known.Precompiled(characters))
    fast.normalizer = known.Sequence(steps)
    splitters = tokenizers.pre_tokenizers
    fast.pre_tokenizer = splitters.Sequence(
        [splitters.WhitespaceSplit(), splitters.Metaspace()]
    )
    fast.decoder = tokenizers.decoders.Metaspace()
    is_albert = rules["huggingface_quotes"] and not found
    name = "AlbertTokenizer" if is_albert else "PreTrainedTokenizerFast"
    return fast, {
        "tokenizer_class": name,
        "do_lower_case": rules["lowercase"],
        "keep_accents": not rules["strip_accents"],
        "bos_token": tokenizer.cls_token,
        "eos_token": tokenizer.sep_token,
    }


def _is_lost(character):
    """Whether transformers alone strips a character as an accent."""
    is_mark = unicodedata.category(character).startswith("M")
    return is_mark and not unicodedata.combining(character)


def _make_word_piece(tokenizer):
    """Returns a tokenizer of `tokenizers`, and options of `tokenizer_config.json`."""
    rules = tokenizer.encoder.rules
    model = tokenizers.models.WordPiece(
        {token: index for index, token in enumerate(tokenizer.get_vocabulary())},
        unk_token=tokenizer.unk_token,
        max_input_chars_per_word=MAX_WORD_LENGTH,
        continuing_subword_prefix=CONTINUATION,
    )
    fast = tokenizers.Tokenizer(model)
    fast.normalizer = tokenizers.normalizers.BertNormalizer(
        clean_text=True,
        handle_chinese_chars=rules.split_chinese,
        strip_accents=rules.strip_accents,
        lowercase=rules.lowercase,
    )
    fast.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    fast.decoder = tokenizers.decoders.WordPiece(prefix=CONTINUATION)
    return fast, {
        "tokenizer_class": "BertTokenizer",
        "do_lower_case": rules.lowercase,
        "strip_accents": rules.strip_accents,
        "tokenize_chinese_chars": rules.split_chinese,
    }
