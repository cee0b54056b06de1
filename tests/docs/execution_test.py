"""The code blocks of the README and the documentation run, on small data."""

import pytest

from tests import snippets
from tools.figures import PAGES


def runs(page):
    blocks = snippets.blocks_of(page)
    return any(b.language in ("python", "bash") and not b.reason for b in blocks)


@pytest.fixture(scope="module")
def guides_folder(tmp_path_factory):
    """A folder for all guides, where a run that several begin with is trained once."""
    return tmp_path_factory.mktemp("guides")


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [*filter(runs, PAGES)],
    ids=lambda page: str(page.relative_to(snippets.ROOT)),
)
def test_blocks_run(page, guides_folder, tmp_path):
    folder = guides_folder if page.parent.name == "guides" else tmp_path
    assert snippets.execute(page, folder) > 0
