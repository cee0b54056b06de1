"""Fillings of masks in text."""

import numpy as np
import pytest

import albert_keras as ak
from albert_keras.tasks.masked_words import MaskedWordsTask, fill_mask
from albert_keras.text.text_files import Decoding

SHIPPED = "albert_nano_en"
TEXTS = ["She opened the [MASK] and went out.", "[MASK] is a [MASK] of the house."]


@pytest.fixture(scope="module")
def masked_lm():
    return ak.AlbertMaskedLM.from_preset(SHIPPED)


def test_each_mask_gets_its_most_probable_tokens(masked_lm):
    filled = fill_mask(masked_lm, TEXTS, top_k=3)
    assert [[len(tokens) for tokens in masks] for masks in filled] == [[3], [3, 3]]
    for tokens in (tokens for masks in filled for tokens in masks):
        probabilities = [token.probability for token in tokens]
        assert probabilities == sorted(probabilities, reverse=True)
        assert 0 < sum(probabilities) < 1
    assert {"house", "door"} <= {token.token for token in filled[0][0]}
    # Padding and the other text make no difference.
    alone = fill_mask(masked_lm, TEXTS, top_k=3, batch_size=1)[0][0]
    assert [token.token for token in alone] == [t.token for t in filled[0][0]]
    assert alone[0].probability == pytest.approx(filled[0][0][0].probability, 1e-5)


def test_files_have_an_encoding_and_may_be_empty(masked_lm, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("café [MASK]\n", "cp1252")
    task = MaskedWordsTask(
        masked_lm.preprocessor.tokenizer, decoding=Decoding("cp1252")
    )
    assert task.read(path) == ["café [MASK]"]
    assert task.predict(masked_lm, task.prepare([]), 3) == []
    with pytest.raises(TypeError, match="must be a list. Received: texts='She .MASK.'"):
        fill_mask(masked_lm, "She [MASK]")


def test_probabilities_are_those_of_the_model(masked_lm):
    pretrainer = ak.AlbertPretrainer.from_preset(SHIPPED)
    tokenizer = masked_lm.preprocessor.tokenizer
    ((every,),) = fill_mask(pretrainer, TEXTS[:1], top_k=8000, tokenizer=tokenizer)
    assert len(every) == tokenizer.vocabulary_size()
    assert sum(token.probability for token in every) == pytest.approx(1, 1e-4)
    ids = tokenizer.encoder.encode_with_masks(TEXTS[:1])[0]
    ids = np.array([[tokenizer.cls_token_id, *ids, tokenizer.sep_token_id]])
    logits = masked_lm(
        {
            "token_ids": ids,
            "segment_ids": ids * 0,
            "padding_mask": ids * 0 + 1,
            "mask_positions": np.argwhere(ids == tokenizer.mask_token_id)[:, 1:],
        }
    )
    best = tokenizer.detokenize([int(np.argmax(logits))])
    assert every[0].token == best


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["no mask"], "must have a .MASK.. Received: 'no mask'"),
        (["[MASK] word" * 400], "at most 128 tokens.* Received: 802"),
    ],
)
def test_text_must_have_a_mask_and_fit(texts, message, masked_lm):
    with pytest.raises(ValueError, match=message):
        fill_mask(masked_lm, texts)
