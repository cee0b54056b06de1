"""Phases as text, and their sizes."""

import pytest

from albert_keras.pretraining.phases import Phase

TEXT = "num_steps=300,batch_size=64,num_layers=1,sequence_length=32,masked_rate=0.2"


def test_text_of_a_phase():
    phase = Phase.parse(TEXT)
    assert (phase.num_steps, phase.batch_size, phase.num_layers) == (300, 64, 1)
    assert phase.data_options == {"sequence_length": 32, "masked_rate": 0.2}
    assert str(phase) == TEXT
    # Without a depth it is the model's.
    assert Phase.parse("batch_size=5,num_steps=7") == Phase(7, 5)
    assert (
        Phase.parse(f"{TEXT},favor_shorter=False").data_options["favor_shorter"]
        is False
    )


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("num_steps=3", "with num_steps, batch_size, .*Received: 'num_steps=3'"),
        ("steps=3,batch_size=2", "consists of NAME=VALUE, .*Received: 'steps=3,"),
        ("num_steps=3,batch_size=2,seed=1", "Received: '.*,seed=1'"),
        ("num_steps=0,batch_size=2", "`num_steps` must be an integer, 1 to"),
        ("num_steps=3,batch_size=x", "`batch_size` must be an integer, .*'x'"),
        ("num_steps=3,batch_size=2,masking=all", "`masking` must be one of"),
        ("num_steps=3,batch_size=2,favor_shorter=1", "True or False"),
    ],
)
def test_wrong_text_of_a_phase(wrong, message):
    with pytest.raises(ValueError, match=message):
        Phase.parse(wrong)
