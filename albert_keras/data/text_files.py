"""Lines of text files, and errors that say where a file is not what it must be."""

import json


def read_lines(file):
    """Yields the lines of a UTF-8 file with their ends.

    Args:
        file: str or path.

    Raises:
        FileNotFoundError: If there is no such file.
        ValueError: If a line is not UTF-8, with the offset of the byte.
    """
    offset = 0
    with open(file, "rb") as lines:
        for line in lines:
            try:
                text = line.decode("utf-8")
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"Text must be UTF-8. Received: '{file}', which is not at byte "
                    f"{offset + error.start}. Convert it, for example with iconv."
                ) from error
            # Editors on Windows put a byte order mark before the first word.
            yield text.removeprefix("\ufeff") if offset == 0 else text
            offset += len(line)


def json_object(line, file, line_number):
    """Returns the dict that a line of a JSONL file holds.

    Raises:
        ValueError: If the line is not a JSON object, with file and line number.
    """
    where = f"'{file}', line {line_number}"
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"A JSONL line must be a JSON object. Received: {where}: {error}."
        ) from error
    if not isinstance(value, dict):
        raise ValueError(
            f"A JSONL line must be a JSON object. Received: {where}: {value!r:.80}."
        )
    return value
