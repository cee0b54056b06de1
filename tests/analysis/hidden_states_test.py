"""Hidden states of texts, in batches by length."""

import numpy as np

from albert_keras.analysis.hidden_states import batches_by_length, hidden_states
from tests.analysis.small_models import make_examples


def test_batches_have_similar_lengths_and_all_rows():
    examples = make_examples((9, 3, 14, 5, 4))
    batches = [*batches_by_length(examples, 2)]
    assert [rows.tolist() for rows, _ in batches] == [[1, 4], [3, 0], [2]]
    shapes = [batch["token_ids"].shape for _, batch in batches]
    assert shapes == [(2, 4), (2, 9), (1, 14)]


def test_states_are_those_of_each_row_alone(backbone):
    examples = make_examples((9, 3, 14))
    for rows, states, is_real in hidden_states(backbone, examples, batch_size=2):
        assert len(states) == 1 + backbone.num_layers
        for place, row in enumerate(rows):
            alone = examples.padded([row], examples.lengths[row])
            expected = backbone(alone)["sequence_output"][0]
            received = states[-1][place][is_real[place]]
            np.testing.assert_allclose(received, expected, atol=1e-5)
