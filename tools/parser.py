"""Parser of the scripts."""

import argparse


def new_parser(description):
    """Returns a parser whose help has a docstring as it is."""
    return argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
