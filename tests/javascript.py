"""Node and the packages of `examples/browser`, where they are installed."""

import json
import pathlib
import shutil
import subprocess

import pytest

EXAMPLE = pathlib.Path(__file__).resolve().parents[1] / "examples" / "browser"
PACKAGES = EXAMPLE / "node_modules"
TRANSFORMERS = PACKAGES / "@huggingface" / "transformers" / "dist"
needs_packages = pytest.mark.skipif(
    not (shutil.which("node") and TRANSFORMERS.is_dir()),
    reason="node, and `npm install --ignore-scripts` in examples/browser, are needed",
)


def run_node(script, folder, inputs):
    """Returns what a function of JavaScript gives, through JSON.

    Args:
        script: str. The body of an async function of `transformers`, whose models are
            those in a folder, and `inputs`.
        folder: Path.
        inputs: What JSON can hold.
    """
    library = json.dumps((TRANSFORMERS / "transformers.node.mjs").as_uri())
    program = f"""
    const transformers = await import({library});
    transformers.env.allowRemoteModels = false;
    transformers.env.localModelPath = {json.dumps(f"{folder}/")};
    async function run(inputs) {{ {script} }}
    console.log(JSON.stringify(await run({json.dumps(inputs)})));
    """
    words = ["node", "--input-type=module", "--eval", program]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
