"""Downloads and uploads, by servers with the answers of the hubs."""

import os
import pathlib
import subprocess
import sys

import pytest

from albert_keras.presets.transfer import download
from tests import kaggle_server
from tests.hub_server import TOKEN, Hub, serving

pytest.importorskip("huggingface_hub")

# Small, and too large for Git.
FILES = {
    "config.json": b'{"a": 1}',
    "model.safetensors": b"weights" * 700,
    "assets/tokenizer/vocabulary.spm": b"pieces" * 40,
    "pytorch_model.bin": b"not wanted" * 300,
}


@pytest.fixture
def hub():
    return Hub({"user/film": dict(FILES)})


@pytest.fixture
def run(hub, tmp_path):
    """Runs code in a process that knows only the server and an empty cache."""
    with serving(hub) as address:

        def run(code, **environment):
            return subprocess.run(
                [sys.executable, "-c", code],
                capture_output=True,
                text=True,
                cwd=tmp_path,
                env={
                    **os.environ,
                    "PYTHONPATH": os.pathsep.join(sys.path),
                    "HF_ENDPOINT": address,
                    "HF_HOME": str(tmp_path / "cache"),
                    "HF_HUB_DISABLE_XET": "1",
                    "HF_HUB_DOWNLOAD_TIMEOUT": "5",
                    **environment,
                },
            )

        yield run


def local(address):
    imported = "from albert_keras.presets.hub import local_files"
    return f"{imported}; print(local_files({address!r}))"


def last_line(process):
    assert process.returncode == 1
    return process.stderr.strip().splitlines()[-1]


@pytest.mark.slow
def test_what_was_downloaded_is_found_without_network(run, hub):
    first = run(local("hf://user/film@main"))
    assert first.returncode == 0, first.stderr
    # Standard output is for results, such as those of `--json`.
    assert "Fetching" in first.stderr
    num_requests = len(hub.requests)
    # The package that downloads may have been imported before.
    code = "import huggingface_hub, os; os.environ['HF_HUB_OFFLINE'] = '1'"
    again = run(f"{code}; {local('hf://user/film@main')}")
    assert again.stdout == first.stdout
    assert len(hub.requests) == num_requests
    assert "config.json" in os.listdir(first.stdout.strip())


@pytest.mark.slow
def test_shards_and_files_of_flax_are_downloaded(run, hub):
    shards = (
        "model.safetensors.index.json",
        "model-1.safetensors",
        "model-2.safetensors",
    )
    kinds = {"shards": {*shards}, "flax": {"flax_model.msgpack"}}
    for kind, names in kinds.items():
        hub.repositories[f"user/{kind}"] = dict.fromkeys(names, b"{}")
    process = run("; ".join(local(f"hf://user/{kind}") for kind in kinds))
    folders = process.stdout.splitlines()
    assert [{*os.listdir(folder)} for folder in folders] == [*kinds.values()]


@pytest.mark.parametrize(
    ("address", "environment"),
    [
        ("hf://user/absent", {}),
        ("hf://user/film", {"HF_HUB_OFFLINE": "1"}),
        ("hf://user/film", {"HF_ENDPOINT": "http://127.0.0.1:9"}),
    ],
    ids=["absent", "offline", "no-server"],
)
def test_what_cannot_be_downloaded_is_one_error(run, address, environment):
    line = last_line(run(local(address), **environment))
    assert line.startswith("ConnectionError: An address must have files that can be")
    assert address in line


@pytest.mark.slow
def test_a_dropped_connection_leaves_nothing_half(run, hub):
    hub.damage["model.safetensors"] = lambda content: content[:1000]
    # It is tried again, without the second in between.
    code = f"import time; time.sleep = lambda seconds: None; {local('hf://user/film')}"
    assert "hf://user/film" in last_line(run(code))
    hub.damage.clear()
    process = run(local("hf://user/film"))
    assert process.returncode == 0, process.stderr


@pytest.mark.slow
def test_a_model_of_kaggle_and_its_cache(run, tmp_path):
    pytest.importorskip("kagglehub", minversion="1.0")
    address = "kaggle://user/film/keras/base"
    kaggle = kaggle_server.Kaggle({("user", "film"): FILES})
    with kaggle_server.serving(kaggle) as environment:
        environment |= {"KAGGLEHUB_CACHE": str(tmp_path / "kaggle")}
        first = run(local(address), **environment)
        # Nothing but the result, as for `--json`.
        assert pathlib.Path(first.stdout.removesuffix("\n"), "config.json").is_file()
        assert "100%" in first.stderr
        num_calls = len(kaggle.calls)
        for name in (address, f"{address}/{kaggle_server.VERSION}"):
            again = run(local(name), **environment, HF_HUB_OFFLINE="1")
            assert again.stdout == first.stdout
        line = last_line(run(local(address + "2"), **environment, HF_HUB_OFFLINE="1"))
        assert "with HF_HUB_OFFLINE=1. FileNotFoundError: no version of it" in line
        assert len(kaggle.calls) == num_calls
        line = last_line(run(local("kaggle://user/absent/keras/x"), **environment))
        assert line.startswith("ConnectionError: An address must have files that can")
        assert "Resource not found" in line


@pytest.fixture
def folder(tmp_path):
    for name, content in FILES.items():
        (tmp_path / "model" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "model" / name).write_bytes(content)
    return tmp_path / "model"


def sending(folder, address):
    arguments = f"{str(folder)!r}, {address!r}"
    return f"from albert_keras.presets.transfer import upload; upload({arguments})"


@pytest.mark.slow
def test_new_weights_replace_those_of_every_format(run, hub, folder):
    others = {"README.md": b"# A model", "assets/tokenizer/vocabulary.txt": b"a"}
    preset = {"task.json": b"{}", "task.weights.h5": b"older"}
    hub.repositories["me/old"] = {**others, **preset}
    words = sending(folder / "assets", "hf://me/old")
    process = run(words, HF_TOKEN=TOKEN)
    assert process.returncode == 0, process.stderr
    assert hub.repositories["me/old"].keys() > preset.keys()
    process = run(sending(folder, "hf://me/old"), HF_TOKEN=TOKEN)
    assert process.returncode == 0, process.stderr
    words = {"tokenizer/vocabulary.spm": FILES["assets/tokenizer/vocabulary.spm"]}
    assert hub.repositories["me/old"] == {**others, **words, **FILES}


@pytest.mark.parametrize(
    ("environment", "part"),
    [
        ({"HF_TOKEN": "hf_of_another"}, "401 Unauthorized"),
        ({"HF_HUB_OFFLINE": "1"}, "with HF_HUB_OFFLINE=1."),
        ({"HF_ENDPOINT": "http://127.0.0.1:9"}, "refused"),
    ],
    ids=["token", "offline", "no-server"],
)
def test_what_cannot_be_uploaded_is_one_error(run, hub, folder, environment, part):
    line = last_line(run(sending(folder, "hf://me/new"), **environment))
    assert line.startswith("ConnectionError: An address must have a model that this")
    assert "'hf://me/new'" in line
    assert part in line
    assert "me/new" not in hub.repositories


@pytest.mark.slow
def test_files_are_uploaded_to_kaggle(run, folder):
    pytest.importorskip("kagglehub", minversion="1.0")
    kaggle = kaggle_server.Kaggle({})
    with kaggle_server.serving(kaggle) as environment:
        process = run(sending(folder, "kaggle://me/new/keras/base"), **environment)
        assert process.returncode == 0, process.stderr
        assert process.stdout == ""
        assert kaggle.models == {("me", "new"): FILES}


@pytest.mark.parametrize("address", ["hf://film", "hf://a/b/c", "hf://user/fi lm"])
def test_malformed_addresses(address):
    with pytest.raises(ValueError, match="must be hf://USER/MODEL or .*@REVISION"):
        download(address)


def test_a_missing_package_is_named_with_the_remedy(tmp_path):
    code = (
        "import sys; sys.modules['kagglehub'] = None;"
        "from albert_keras.presets.hub import local_files; local_files('kaggle://a/b/c/d')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert 'pip install "albert_keras[hub]"' in done.stderr
