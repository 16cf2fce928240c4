"""A bidirectional tagger: the words of a sentence are read from both ends, and each gets a tag.

A model is one recursion, and it goes one way: from the first word to the last. The other way is the same recursion over
the sentence reversed. So one cell is compiled, bound to the weights of each direction, and what they give is joined:

    r, z = σ(W x + b + U h' + d), g = tanh(W x + b + r ⊙ (U h' + d)), h = (1 - z) ⊙ g + z ⊙ h'
    score = V h, and a word's tag is the largest of score forward + score backward + a

This is the cell of torch.nn.GRU, with the weights by their names there: the rows of r, z and g in one array. The
structures are arrays of words. From the root of the repository:

    python examples/bidirectional_tagger.py
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import cortex
from cortex import ra

WORDS = ["the", "old", "man", "boats", "sail"]
TAGS = ["DET", "ADJ", "NOUN", "VERB"]
SENTENCES = ["the old man the boats", "old boats sail", "sail"]
Array = NDArray[np.float64]
Params = dict[str, Any]


def gru_tagger(hidden: int, embed: int, vocab: int, tags: int) -> ra.Model:
    """Return one direction of the tagger, over sequences of words; outputs h (hidden,) and score (tags,)."""
    N, H, E = ra.N, hidden, embed
    emb, word = ra.input_tensor("emb", (vocab, E)), ra.node_input("word", dtype="int32")
    W, b = ra.input_tensor("weight_ih", (3 * H, E)), ra.input_tensor("bias_ih", (3 * H,))
    U, d = ra.input_tensor("weight_hh", (3 * H, H)), ra.input_tensor("bias_hh", (3 * H,))
    V = ra.input_tensor("V", (tags, H))
    # A step's one child is the step before; the first step has none, and reads zero.
    h_ph, score_ph = ra.placeholder((N, H), default=0.0), ra.placeholder((N, tags))

    Wx = ra.compute((N, 3 * H), lambda n, i: ra.sum(E, lambda j: W[i, j] * emb[word[n], j]) + b[i])
    Uh = ra.compute((N, 3 * H), lambda n, i: ra.sum(H, lambda j: U[i, j] * h_ph[n.left, j]) + d[i])
    r = ra.compute((N, H), lambda n, i: ra.sigmoid(Wx[n, i] + Uh[n, i]))
    z = ra.compute((N, H), lambda n, i: ra.sigmoid(Wx[n, i + H] + Uh[n, i + H]))
    g = ra.compute((N, H), lambda n, i: ra.tanh(Wx[n, i + 2 * H] + r[n, i] * Uh[n, i + 2 * H]))
    h = ra.compute((N, H), lambda n, i: (1 - z[n, i]) * g[n, i] + z[n, i] * h_ph[n.left, i])
    # No step reads the score of the one before. It is an output all the same, and every step has one.
    score = ra.compute((N, tags), lambda n, i: ra.sum(H, lambda j: V[i, j] * h[n, j]))
    return ra.recursion_op({"h": (h_ph, h), "score": (score_ph, score)}, structure=ra.Sequence())


class Tagger:
    """Two directions of one compiled cell."""

    def __init__(self, model: ra.Model, forward: Params, backward: Params, bias: NDArray[np.float32]) -> None:
        """Compile the model once, and bind it to the parameters of each direction."""
        self.forward = cortex.compile(model, forward)
        self.backward = self.forward.with_params(backward)
        self.bias = bias

    def __call__(self, sentences: list[NDArray[np.int32]]) -> list[NDArray[np.float32]]:
        """Return the scores of each sentence's words (words, tags)."""
        ahead = self.forward(sentences).nodes("score")
        back = self.backward([words[::-1] for words in sentences]).nodes("score")
        return [one + other[::-1] + self.bias for one, other in zip(ahead, back, strict=True)]


def by_hand(params: Params, words: NDArray[np.int32]) -> dict[str, Array]:
    """Return h and score of each word (words, ...) by plain recursion in float64."""
    p = {name: np.asarray(value, np.float64) for name, value in params.items()}
    hidden = p["weight_hh"].shape[1]
    rows: list[Array] = []

    def sigmoid(z: Array) -> Array:
        return 1 / (1 + np.exp(-z))

    def visit(step: int) -> Array:
        before = visit(step - 1) if step else np.zeros(hidden)
        Wx = np.split(p["weight_ih"] @ p["emb"][words[step]] + p["bias_ih"], 3)
        Uh = np.split(p["weight_hh"] @ before + p["bias_hh"], 3)
        r, z = sigmoid(Wx[0] + Uh[0]), sigmoid(Wx[1] + Uh[1])
        rows.append((1 - z) * np.tanh(Wx[2] + r * Uh[2]) + z * before)
        return rows[-1]

    visit(len(words) - 1)
    return {"h": np.array(rows), "score": np.array(rows) @ p["V"].T}


def main() -> None:
    """Compile the cell, tag the sentences, and compare every word in each direction."""
    model = gru_tagger(hidden=24, embed=16, vocab=len(WORDS), tags=len(TAGS))
    forward, backward = model.init_params(seed=1), model.init_params(seed=2)
    backward["emb"] = forward["emb"]
    tagger = Tagger(model, forward, backward, bias=np.zeros(len(TAGS), np.float32))
    sentences = [np.array([WORDS.index(w) for w in text.split()], np.int32) for text in SENTENCES]
    for text, scores in zip(SENTENCES, tagger(sentences), strict=True):
        print(" ".join(f"{w}/{TAGS[tag]}" for w, tag in zip(text.split(), scores.argmax(1), strict=True)))
    for fn, params, step in ((tagger.forward, forward, 1), (tagger.backward, backward, -1)):
        for words in sentences:
            out = fn(words[::step])
            oracle: Any = ra.evaluate(model, params, words[::step])
            for name, want in by_hand(params, words[::step]).items():
                for got in (out.nodes(name)[0], oracle[name]):
                    assert np.abs(got - want).max() <= 1e-5 * max(1.0, np.abs(want).max())
    print("h and score of every word agree with the recursion by hand and with ra.evaluate, both ways")


if __name__ == "__main__":
    main()
