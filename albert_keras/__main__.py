"""`python -m albert_keras` is the `albert-keras` command."""

import sys

from albert_keras.cli import main

sys.exit(main())
