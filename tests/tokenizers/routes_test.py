"""Every kind of SentencePiece model on every route to its ids: equal, or refused."""

import io
import json
import string

import pytest
import sentencepiece
import tensorflow as tf

from albert_keras.config import AlbertConfig
from albert_keras.export import export_saved_model, load_exported
from albert_keras.export.tflite import export_tflite
from albert_keras.models import AlbertBackbone, AlbertTextClassifier
from albert_keras.preprocessors import AlbertTextClassifierPreprocessor
from albert_keras.tokenizers import (
    AlbertTokenizer,
    load_tokenizer,
    train_sentence_piece,
)
from albert_keras.tokenizers.huggingface_files import write_tokenizer_files
from albert_keras.tokenizers.sentence_piece_model import invisible_characters
from tests.helpers import max_difference

TRAINING_TEXTS = [
    "the hen and the fox sat (on a mat) – 2012, 10,000 and 3,5",
    "Café déjà vu, naïve hens: ﬁne ﬂour ½ ² and İstanbul",
    "das Huhn und der Fuchs in der Straße, größer ABC abc New York",
    "你好，世界。 中国人民 こんにちは שלום العربية",
    "한국어",
]
KINDS = {
    "unigram": {},
    "unigram of few pieces": {"user_defined_symbols": ["0"]},
    "unigram over words": {"split_by_whitespace": False},
    "unigram that folds case": {"normalization_rule_name": "nmt_nfkc_cf"},
    "unigram with any white space": {"remove_extra_whitespaces": False},
    "unigram with identity": {"normalization_rule_name": "identity"},
    "unigram with nfkc": {"normalization_rule_name": "nfkc"},
    "unigram with bytes": {"byte_fallback": True, "vocab_size": 400},
    "unigram with suffixes": {"treat_whitespace_as_suffix": True},
    "unigram without prefix": {"add_dummy_prefix": False},
    "unigram of the user": {
        "user_defined_symbols": ["ﬁ", "New York", "<sep>", "ab", "0"]
    },
    "bpe": {"model_type": "bpe"},
    "bpe with bytes": {"model_type": "bpe", "byte_fallback": True, "vocab_size": 400},
    "bpe with suffixes": {"model_type": "bpe", "treat_whitespace_as_suffix": True},
    "bpe without prefix": {"model_type": "bpe", "add_dummy_prefix": False},
    "word": {"model_type": "word"},
    "char": {"model_type": "char"},
}
PLAIN = {name for name in KINDS if name.startswith("unigram")} - {
    *("unigram with bytes", "unigram with identity", "unigram with nfkc"),
    *("unigram with suffixes", "unigram without prefix", "unigram of the user"),
    "unigram with any white space",
}
RULES = [
    {},
    {"lowercase": False, "strip_accents": False},
    {"strip_accents": False, "huggingface_quotes": True},
]
# Each kind under some rules, each rule with some kinds, and the two main kinds under all.
CASES = [(kind, RULES[i % 3]) for i, kind in enumerate(KINDS)]
CASES += [(k, r) for k in ("unigram", "bpe") for r in RULES if (k, r) not in CASES]
MORE_TEXTS = [
    *("the hen", "model 中", "the \u200bcat sat", "\ufeffa \u200e b\u200c"),
    *("\x01a \x02b", "New York abABC <sep>ab", "CAFE\u0301 E\u0300", "▁x ▁▁y"),
    "- -- 2012,x 1,",
]


def train(**options):
    model = io.BytesIO()
    # Runs of zeros have several segmentations of equal score.
    options = {"user_defined_symbols": ["(", ")", "-", "–", "0"], **options}
    sentencepiece.SentencePieceTrainer.Train(
        sentence_iterator=iter(TRAINING_TEXTS * 3),
        model_writer=model,
        **{"vocab_size": 140, "hard_vocab_limit": False, **options},
        pad_id=0,
        unk_id=1,
        bos_id=-1,
        eos_id=-1,
        control_symbols=["[CLS]", "[SEP]", "[MASK]"],
        character_coverage=0.98 if options.get("byte_fallback") else 1.0,
        minloglevel=3,
    )
    return model.getvalue()


@pytest.fixture(scope="module")
def protos():
    return {name: train(**options) for name, options in KINDS.items()}


@pytest.fixture(scope="module")
def all_texts(stress_texts):
    # The longest ones are in the tests of the published vocabularies.
    # Of four places of each fragment one or two.
    texts = [text for text in stress_texts[::3] if len(text) < 500]
    return [*texts, *MORE_TEXTS, "E\u0300\u0301"]


@pytest.mark.parametrize(("kind", "rules"), CASES, ids=str)
def test_graph_equals_sentence_piece(kind, rules, protos, all_texts):
    tokenizer = AlbertTokenizer(protos[kind], **rules)
    if kind == "unigram with any white space":
        # The graph removes the spaces that this model makes of other characters.
        unseen = {*"▁¨", *invisible_characters(protos[kind])} - {*string.whitespace}
        all_texts = [text for text in all_texts if unseen.isdisjoint(text)]
        assert len(all_texts) > len(MORE_TEXTS)
    rows = tokenizer.encode_batch(all_texts)
    strings = tf.constant(all_texts)
    assert tokenizer(strings).to_list() == rows
    ids, starts, ends = (t.to_list() for t in tokenizer.tokenize_with_spans(strings))
    assert ids == rows
    for text, row, first, last in zip(all_texts, rows, starts, ends, strict=True):
        expected = row, [*zip(first, last, strict=True)]
        assert tokenizer.tokenize_with_offsets(text) == expected, text


def test_a_saved_model_has_the_same_ids(protos, all_texts, tmp_path):
    tokenizer = AlbertTokenizer(protos["bpe with bytes"])
    config = AlbertConfig.from_preset(
        "albert_test", vocabulary_size=tokenizer.vocabulary_size()
    )
    preprocessor = AlbertTextClassifierPreprocessor(tokenizer, sequence_length=19)
    classifier = AlbertTextClassifier(
        AlbertBackbone(**config.to_dict()), 3, preprocessor=preprocessor
    )
    export_saved_model(classifier, tmp_path / "model", tokenizer)
    received = load_exported(tmp_path / "model").predict(all_texts)["logits"]
    # By the ids of Python.
    expected = classifier.predict(preprocessor(all_texts), verbose=0)
    assert max_difference(received, expected) < 1e-5


@pytest.mark.parametrize("kind", KINDS)
def test_without_rules_of_ours_ids_are_the_processor_s(kind, protos):
    options = {"lowercase": False, "strip_accents": False, "split_digit_comma": False}
    tokenizer = AlbertTokenizer(protos[kind], **options)
    processor = sentencepiece.SentencePieceProcessor(model_proto=protos[kind])
    assert tokenizer(TRAINING_TEXTS) == processor.Encode(TRAINING_TEXTS)


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - PLAIN))
def test_tflite_refuses_what_it_cannot_run(kind, protos, tmp_path):
    tokenizer = AlbertTokenizer(protos[kind])
    with pytest.raises(ValueError, match="plain SentencePiece unigram models. Rec"):
        export_tflite(None, tmp_path / "file.tflite", tokenizer=tokenizer)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("kind", KINDS)
def test_transformers_has_the_same_ids_or_is_refused(kind, protos, tmp_path):
    transformers = pytest.importorskip("transformers")
    readable = PLAIN - {"unigram over words"} | {"unigram with bytes"}
    rules_of_kind = [rules for name, rules in CASES if name == kind]
    for rules in rules_of_kind:
        tokenizer = AlbertTokenizer(protos[kind], **rules)
        if kind not in readable:
            with pytest.raises(
                ValueError, match="it reads plain SentencePiece unigram"
            ):
                write_tokenizer_files(tokenizer, 512, tmp_path)
            assert not any(tmp_path.iterdir())
            continue
        write_tokenizer_files(tokenizer, 512, tmp_path)
        (tmp_path / "config.json").write_text(json.dumps({"model_type": "albert"}))
        theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
        # transformers does not compose Hangul after NFKD.
        texts = TRAINING_TEXTS[:-1] + [t for t in MORE_TEXTS if "▁" not in t]
        assert tokenizer(texts) == theirs(texts, add_special_tokens=False)["input_ids"]
        # And back.
        again = load_tokenizer(tmp_path)
        assert again(texts) == tokenizer(texts)
        assert again.fingerprint() == tokenizer.fingerprint()


def test_vowel_signs_that_transformers_strips_are_refused(tmp_path):
    hindi = AlbertTokenizer(train_sentence_piece(["हिन्दी में एक वाक्य"] * 3, 28))
    with pytest.raises(ValueError, match="with vowel signs, which transformers strips"):
        write_tokenizer_files(hindi, 512, tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_masks_are_found_in_text_or_refused(kind, protos):
    tokenizer = AlbertTokenizer(protos[kind])
    if kind in ("word", "char") or kind.endswith("suffixes"):
        with pytest.raises(ValueError, match=r"To find \[MASK\] in text, a model must"):
            AlbertTokenizer(protos[kind], mask_in_text=True)
        return
    reader = AlbertTokenizer(protos[kind], mask_in_text=True)
    ids = reader("the [MASK] sat [MASK].")
    assert ids.count(tokenizer.mask_token_id) == 2
    assert reader(tf.constant("the [MASK] sat [MASK].")).numpy().tolist() == ids
    assert reader(TRAINING_TEXTS) == tokenizer(TRAINING_TEXTS)
