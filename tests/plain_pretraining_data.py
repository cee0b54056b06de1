"""The rules of pretraining data in plain Python: one sentence, word and piece at a time.

What the vectorised code of `albert_keras.pretraining` must equal when it is given the
same random numbers, and what its speed is compared with. The steps and their data are
those of google-research/albert `create_pretraining_data.py`: pieces as strings, a list of
n-grams for each word, ids at the end. The rules too, with the deviations that
`PairCutter` and `select_ngrams` name.
"""

import itertools
import unicodedata
from fractions import Fraction

MASK_RATE, KEEP_RATE = 0.8, 0.1
MARKS = set('!"#$%&()*+,-./:;?@[\\]^_`{|}~')
LETTERS = set("abcdefghijklmnopqrstuvwxyz")
# Second segments by objective, from the last label to the first.
KINDS = {
    "sop": ["swapped", "next"],
    "nsp": ["elsewhere", "next"],
    "ternary": ["elsewhere", "swapped", "next"],
    "distant": ["elsewhere", "next"],
}
PER_TEXT = ("is_short", "target")
SPECIAL = {"<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"}


def tokenize(processor, text):
    """Returns the pieces of a line: `preprocess_text` and `encode_pieces`.

    The marker of a re-encoded piece is stripped, which in the original a comparison of
    bytes with str prevents.
    """
    text = " ".join(text.strip().split())
    text = unicodedata.normalize("NFKD", text)
    text = "".join(c for c in text if not unicodedata.combining(c)).lower()
    pieces = []
    for piece in processor.EncodeAsPieces(text):
        if len(piece) > 1 and piece[-1] == "," and piece[-2].isdigit():
            parts = processor.EncodeAsPieces(piece[:-1].replace("▁", ""))
            if piece[0] != "▁" and parts[0][0] == "▁":
                parts = [parts[0][1:], *parts[1:]] if len(parts[0]) > 1 else parts[1:]
            pieces += [*parts, ","]
        else:
            pieces.append(piece)
    return pieces


def make_examples(documents, pair_draws, masking_draws, processor, config):
    """Makes the examples of tokenized documents.

    Args:
        documents: list of documents, each a list of sentences, each a list of pieces.
        pair_draws: dict of lists, a `PairDraws`.
        masking_draws: iterator of dicts of lists, the `MaskingDraws` of each example.
        processor: SentencePiece processor.
        config: `PretrainingDataConfig`, with rows that are not filled.

    Returns:
        List of dicts of lists, by the names of `albert_keras.pretraining.examples`.
    """
    replacements = [processor.IdToPiece(index) for index in range(len(processor))]
    if config.random_replacements == "ordinary":
        replacements = [piece for piece in replacements if piece not in SPECIAL]
    examples = []
    for first, second, label in make_pairs(documents, pair_draws, config):
        tokens, segment_ids = ["[CLS]"], [0]
        for token in first:
            tokens.append(token)
            segment_ids.append(0)
        tokens.append("[SEP]")
        segment_ids.append(0)
        if config.sentence_pairs != "none":
            for token in second:
                tokens.append(token)
                segment_ids.append(1)
            tokens.append("[SEP]")
            segment_ids.append(1)
        example = mask(tokens, next(masking_draws), replacements, config)
        token_ids = [processor.PieceToId(token) for token in example["tokens"]]
        labels = [processor.PieceToId(token) for token in example["labels"]]
        padding = [0] * (config.sequence_length - len(tokens))
        unused = [0] * (config.num_predictions - len(labels))
        examples.append(
            {
                "token_ids": token_ids + padding,
                "segment_ids": segment_ids + padding,
                "padding_mask": [1] * len(tokens) + padding,
                "word_starts": [int(starts_word(token)) for token in tokens] + padding,
                "mask_positions": example["positions"] + unused,
                "mask_ids": labels + unused,
                "mask_weights": [1.0] * len(labels) + unused,
                "sop_label": label,
            }
        )
    return examples


def starts_word(piece):
    """Tells whether a piece begins a word, as `_is_start_piece_sp`."""
    if piece in SPECIAL or piece.startswith(("▁", "<")):
        return True
    return piece in MARKS or any(c not in LETTERS and c not in MARKS for c in piece)


def make_pairs(documents, draws, config):
    """Cuts documents into `(first, second, label)`, as `PairCutter.cut` does."""
    number_of_first = [0, *itertools.accumulate(map(len, documents))]
    for number, sentences in enumerate(documents):
        target = config.max_tokens
        if draws["is_short"][number] < config.short_sequence_prob:
            target = 2 + int(draws["target"][number] * (config.max_tokens - 1))
        position = 0
        while position < len(sentences):
            begin, draw = position, number_of_first[number] + position
            drawn = {name: draws[name][draw] for name in draws if name not in PER_TEXT}
            chunk = _gather(sentences, begin, target)
            position += len(chunk)
            if config.sentence_pairs == "none":
                yield truncate((_join(chunk), [], 0), drawn, config)
                continue
            end = begin + 1 + int(drawn["middle"] * (len(chunk) - 1))
            first = _join(sentences[begin:end])
            room = max(1, target - len(first))
            following = min(end + config.pair_gap, len(sentences) - 1)
            if config.sentence_pairs == "distant":
                span = max(0, begin - config.pair_gap), following
                elsewhere = _draw_distant(sentences, span, room, target, drawn)
            else:
                elsewhere = _draw_other(documents, number, drawn)
            kinds = KINDS[config.sentence_pairs]
            if len(chunk) > 1:
                possible = [k for k in kinds if k != "elsewhere" or elsewhere]
                kind = possible[int(drawn["swap"] * len(possible))]
                label = len(kinds) - 1 - kinds.index(kind)
            elif config.one_sentence_chunks == "random_document" and elsewhere:
                kind, label = "elsewhere", len(kinds) - 1
            else:
                continue
            if kind == "elsewhere":
                pair = first, _join(_gather(elsewhere, 0, room)), label
                position = end
            else:
                segment = _gather(sentences, following, room)
                position = following + len(segment)
                pair = first, _join(segment), label
                if kind == "swapped":
                    pair = _join(segment), first, label
            yield truncate(pair, drawn, config)


def _draw_other(documents, number, drawn):
    """Returns the sentences of another document from a random one on, if any."""
    if len(documents) == 1:
        return []
    other = int(drawn["other_document"] * (len(documents) - 1))
    other = documents[other + (other >= number)]
    return other[int(drawn["other_sentence"] * len(other)) :]


def _draw_distant(sentences, span, room, distance, drawn):
    """Returns the sentences from a random one on, at a distance from a span of others."""
    before, after = span
    places = []
    for place in range(len(sentences)):
        end = place + len(_gather(sentences, place, room))
        between = _join(sentences[end:before] + sentences[after:place])
        if (end <= before or place > after) and len(between) >= distance:
            places.append(place)
    if not places:
        return []
    return sentences[places[int(drawn["other_sentence"] * len(places))] :]


def _join(sentences):
    return list(itertools.chain(*sentences))


def _gather(sentences, begin, target):
    chunk, num_tokens = [], 0
    for sentence in sentences[begin:]:
        chunk.append(sentence)
        num_tokens += len(sentence)
        if num_tokens >= target:
            break
    return chunk


def truncate(pair, drawn, config):
    """Shortens a pair to `max_tokens`, the longer side losing one token at a time."""
    first, second, label = pair
    lost = [0, 0]
    while len(first) + len(second) - sum(lost) > config.max_tokens:
        longer = len(first) - lost[0] > len(second) - lost[1]
        lost[0 if longer else 1] += 1
    first = _truncate_side(first, lost[0], drawn["first_end"])
    return first, _truncate_side(second, lost[1], drawn["second_end"]), label


def _truncate_side(tokens, num_lost, uniform):
    """Drops tokens from the front as often as heads fall in `num_lost` tosses."""
    if not num_lost:
        return tokens
    threshold, ways, num_ways, in_front = Fraction(uniform) * 2**num_lost, 1, 1, 0
    while num_ways <= threshold:
        ways = ways * (num_lost - in_front) // (in_front + 1)
        in_front += 1
        num_ways += ways
    return tokens[in_front : len(tokens) - (num_lost - in_front)]


def mask(tokens, draws, replacements, config):
    """Masks one example: what is seen, and the pieces to predict with their places."""
    budget = round(len(tokens) * config.masked_rate)
    budget = min(max(1, budget), config.num_predictions)
    selected = select(tokens, budget, draws, config)
    visible = list(tokens)
    for slot, position in enumerate(sorted(selected)):
        if draws["action"][slot] < MASK_RATE:
            visible[position] = "[MASK]"
        elif draws["action"][slot] >= MASK_RATE + KEEP_RATE:
            choice = int(draws["replacement"][slot] * len(replacements))
            visible[position] = replacements[choice]
    positions = sorted(selected)
    labels = [tokens[position] for position in positions]
    return {"tokens": visible, "positions": positions, "labels": labels}


def select(tokens, budget, draws, config):
    """Returns the set of positions that are selected."""
    words = []
    for position, token in enumerate(tokens):
        if token in SPECIAL:
            continue
        if (
            config.masking == "token"
            or starts_word(token)
            or tokens[position - 1] in SPECIAL
        ):
            words.append([])
        words[-1].append(position)
    max_ngram = config.max_ngram if config.masking == "ngram" else 1
    weights = [1 / size for size in range(1, max_ngram + 1)]
    weights = weights if config.favor_shorter else weights[::-1]
    total, ngrams = sum(weights), []
    for index, word in enumerate(words):
        runs = [[word]]
        for following in words[index + 1 : index + max_ngram]:
            if following[0] != runs[-1][-1][-1] + 1:
                break
            runs.append([*runs[-1], following])
        ngrams.append(runs)
    selected = set()
    for runs in sorted(ngrams, key=lambda runs: draws["order"][runs[0][0][0]]):
        if len(selected) >= budget:
            break
        drawn, size = draws["size"][runs[0][0][0]] * total, 1
        while drawn >= sum(weights[:size]):
            size += 1
        for run in reversed(runs[:size]):
            positions = set(itertools.chain(*run))
            if len(selected) + len(positions) <= budget:
                if not positions & selected:
                    selected |= positions
                break
    return selected
