"""Pairs of a small corpus: what belongs together, and how much it shares."""

import csv
import json

from tools.natural_pairs import main

ANSWER = {"text": "came", "answer_start": 9}
WORDS = "river stone bridge market window garden winter letter silver morning".split()


def sentences(topic, count):
    """Returns sentences about a topic, each with words of its own."""
    return [
        f"The {topic} of place {WORDS[n]} was seen near the {WORDS[(3 * n + 1) % 10]}."
        for n in range(count)
    ]


def test_pairs_of_a_corpus(tmp_path):
    documents = [" ".join(sentences(topic, 10)) for topic in ("harbour", "orchard")]
    texts = tmp_path / "texts.jsonl"
    texts.write_text("".join(f"{json.dumps({'text': x})}\n" for x in documents))
    answer = "The ship came home in spring. "
    context = answer + "Nobody had waited for it at the pier."
    rows = [
        {"id": str(n), "question": f"When {n}?", "answers": [ANSWER]} for n in range(40)
    ]
    questions = tmp_path / "questions.json"
    article = {"paragraphs": [{"context": context, "qas": rows}]}
    questions.write_text(json.dumps({"data": [article]}))
    main([str(texts), "--questions", str(questions), "--output", str(tmp_path)])

    overlap = read(tmp_path / "overlap.csv")
    cosines = {(a, b): float(cosine) for a, b, cosine in overlap}
    assert all(0 <= cosine <= 5 for cosine in cosines.values())
    assert max(cosines.values()) > 4
    harbour = {pair: x for pair, x in cosines.items() if "harbour" in pair[0]}
    across = [x for pair, x in harbour.items() if "orchard" in pair[1]]
    inside = [x for pair, x in harbour.items() if "harbour" in pair[1]]
    assert sum(across) / len(across) < sum(inside) / len(inside)

    answers = read(tmp_path / "answers.csv")
    assert len(answers) == 40
    found = {(text, label) for _, text, label in answers}
    assert found == {(answer.strip(), "yes"), (context[len(answer) :], "no")}
    pairs = read(tmp_path / "pairs.csv")
    assert ("When 0?", context) in {tuple(pair) for pair in pairs}


def read(path):
    """Returns the rows of a file, without its header."""
    with path.open(encoding="utf-8", newline="") as file:
        return [*csv.reader(file)][1:]
