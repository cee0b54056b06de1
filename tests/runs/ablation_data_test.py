"""Commands that make the data of an ablation, and its runs."""

import pathlib

import pytest

from albert_keras.runs import AblationConfig
from albert_keras.runs.ablation_arms import Arm
from albert_keras.runs.ablation_data import (
    AblationData,
    preparing_commands,
    pretraining_command,
    seconds_per_step,
)

FOLDER = pathlib.Path("out")


def make_config(name, **options):
    return AblationConfig(name=name, text=("a.txt", "b.txt"), output="out", **options)


def following(words, flag):
    return words[words.index(flag) + 1]


def test_a_vocabulary_is_trained_where_none_is_given():
    data = AblationData(str(FOLDER / "vocabulary.model"), FOLDER)
    train, prepare = preparing_commands(make_config("sharing"), data)
    assert train[:3] == ["train-vocabulary", "a.txt", "b.txt"]
    assert following(train, "--output") == data.tokenizer
    assert following(prepare, "--output") == str(FOLDER / "tokens")
    data = AblationData("albert_nano_en", FOLDER)
    (prepare,) = preparing_commands(make_config("sharing"), data)
    assert following(prepare, "--tokenizer") == "albert_nano_en"
    assert "--validation-split" not in prepare


def test_smaller_stores_hold_out_the_rest():
    data = AblationData("albert_nano_en", FOLDER)
    commands = [*preparing_commands(make_config("more-data"), data)]
    splits = {
        following(words, "--output"): words[-1]
        for words in commands
        if "--validation-split" in words
    }
    assert splits == {"out/tokens-0.1": "0.9", "out/tokens-0.33": "0.67"}
    assert len(commands) == 3
    arm = make_config("more-data").chosen_arms["a tenth"]
    words = pretraining_command(make_config("more-data"), data, arm, 5, 0, "run")
    assert following(words, "--data") == "out/tokens-0.1"
    assert following(words, "--validation-data") == "out/tokens/held_out"


def test_options_of_an_arm_come_last():
    config = make_config("dropout", pretrain_option=("--dropout=0.5",))
    data = AblationData("albert_nano_en", FOLDER)
    words = pretraining_command(config, data, config.chosen_arms["0.1"], 800, 3, "run")
    assert words.index("--dropout=0.5") < words.index("--dropout")
    assert following(words, "--num-steps") == "800"
    assert following(words, "--warmup-steps") == "40"
    assert following(words, "--steps-per-evaluation") == "200"
    assert "--checkpoint" not in words
    data = data._replace(checkpoint="out/start")
    words = pretraining_command(config, data, config.chosen_arms["0.1"], 800, 3, "run")
    assert following(words, "--checkpoint") == "out/start"


def test_grown_arms_have_phases_and_their_mean_time():
    arm = Arm("grown", growth=((0.5, 1), (0.25, 3)))
    config = make_config("depth-growth")
    data = AblationData("albert_nano_en", FOLDER)
    words = pretraining_command(config, data, arm, 400, 0, "run")
    assert words[-3:] == [
        "num_steps=200,batch_size=64,num_layers=1",
        "num_steps=100,batch_size=64,num_layers=3",
        "num_steps=100,batch_size=64",
    ]
    times = dict(zip("123", (1.0, 3.0, 7.0), strict=True))
    phases = {n: {"core_seconds_per_step": time} for n, time in times.items()}
    assert seconds_per_step({"phases": phases}, arm) == pytest.approx(3.0)
    assert seconds_per_step({"core_seconds_per_step": 2.5}, Arm("plain")) == 2.5
