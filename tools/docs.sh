#!/usr/bin/env bash
# Builds the documentation into site/; a broken link or an unknown name is an error.
# Needs the extra `docs`. `tools/docs.sh serve` shows it at http://127.0.0.1:8000 instead.
# With EXECUTE_NOTEBOOKS=1 the pages of the notebooks have outputs (extra `test`; minutes).
set -euo pipefail
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-python}
# The theme prints an advertisement otherwise.
export NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true
if [ "${1:-build}" = serve ]; then
  exec "$PYTHON" -m mkdocs serve
fi
"$PYTHON" -m mkdocs build --strict --quiet --site-dir "${SITE:-site}"
