"""Numbers of steps of recipes."""

from albert_keras.tasks import Recipe


def test_epochs_become_steps_and_warmup_six_percent():
    assert Recipe(batch_size=7, num_epochs=5).steps_for(140) == (100, 6)


def test_given_steps_win():
    assert Recipe(num_steps=50, warmup_steps=9).steps_for(10**6) == (50, 9)


def test_tiny_sets_train_a_step():
    assert Recipe().steps_for(3) == (1, 0)
