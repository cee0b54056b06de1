"""Tables in Markdown."""


def markdown_table(heads, rows):
    """Returns a table of rows, which are lists of str.

    >>> print(markdown_table(["task", "score"], [["rte", "52.7"], ["mean", ""]]))
    | task | score |
    | --- | --- |
    | rte | 52.7 |
    | mean | |
    """
    lines = [heads, ["---"] * len(heads), *rows]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    return table.replace("|  |", "| |")
