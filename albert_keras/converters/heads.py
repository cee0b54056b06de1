"""Names of the heads in other libraries' files."""

import dataclasses
import functools

from albert_keras.converters.name_table import Row, dense_rows, norm_rows
from albert_keras.models import HEADS, AlbertBackbone

# PyTorch stores kernels as (outputs, inputs).
_NAMES = ".weight", ".bias"
torch_dense = functools.partial(dense_rows, names=_NAMES, transposed=True)
torch_norm = functools.partial(norm_rows, names=_NAMES)


@dataclasses.dataclass(frozen=True)
class ForeignHead:
    """A head in other libraries; a field is empty if the library has no such head.

    Args:
        google, huggingface, keras_hub, sentence_transformers: Tuples of `Row`s of
            Google's checkpoints, transformers' files, keras-hub's model and
            sentence-transformers' dense module.
        served: Tuple of `Row`s of other names in served SavedModels.
        architectures: Names of transformers' classes; the first one is written.
        dropout_keys: Keys of transformers' `config.json` for the head's dropout: the
            first one, and maybe another one that is read if it is null.
    """

    google: tuple = ()
    huggingface: tuple = ()
    keras_hub: tuple = ()
    sentence_transformers: tuple = ()
    served: tuple = ()
    architectures: tuple = ()
    dropout_keys: tuple = ()


_GOOGLE_CLASSIFIER = (
    Row("output_weights", "logits/kernel", transposed=True),
    Row("output_bias", "logits/bias"),
)
FOREIGN_HEADS = {
    "pretraining": ForeignHead(
        google=(
            *dense_rows("cls/predictions/transform/dense", "mlm/transform"),
            *norm_rows("cls/predictions/transform/LayerNorm", "mlm/layer_norm"),
            Row("cls/predictions/output_bias", "mlm/output_bias"),
            Row("cls/seq_relationship/output_weights", "sop/kernel", transposed=True),
            Row("cls/seq_relationship/output_bias", "sop/bias"),
        ),
        huggingface=(
            *torch_dense("predictions.dense", "mlm/transform"),
            *torch_norm("predictions.LayerNorm", "mlm/layer_norm"),
            Row("predictions.bias", "mlm/output_bias"),
            *torch_dense("sop_classifier.classifier", "sop"),
        ),
        keras_hub=(
            *dense_rows("mlm_head/intermediate_dense", "mlm/transform"),
            *norm_rows("mlm_head/intermediate_layer_norm", "mlm/layer_norm"),
            Row("mlm_head/output_bias", "mlm/output_bias"),
        ),
        architectures=("AlbertForPreTraining", "AlbertForMaskedLM"),
    ),
    "sequence_classification": ForeignHead(
        google=_GOOGLE_CLASSIFIER,
        huggingface=torch_dense("classifier", "logits"),
        keras_hub=dense_rows("logits", "logits"),
        # Names in chinanews_albert.
        served=dense_rows("transfer/dense", "logits"),
        architectures=("AlbertForSequenceClassification",),
        dropout_keys=("classifier_dropout_prob",),
    ),
    "token_classification": ForeignHead(
        huggingface=torch_dense("classifier", "logits"),
        architectures=("AlbertForTokenClassification",),
        dropout_keys=("classifier_dropout_prob", "hidden_dropout_prob"),
    ),
    "question_answering": ForeignHead(
        google=(
            Row("cls/squad/output_weights", "logits/kernel", transposed=True),
            Row("cls/squad/output_bias", "logits/bias"),
        ),
        huggingface=torch_dense("qa_outputs", "logits"),
        architectures=("AlbertForQuestionAnswering",),
    ),
    "joint_question_answering": ForeignHead(
        google=(
            *dense_rows("start_logits/dense", "start_logits/dense"),
            Row("end_logits/dense_0/kernel", "end_logits/hidden_kernel"),
            Row("end_logits/dense_0/bias", "end_logits/hidden_bias"),
            *norm_rows("end_logits/LayerNorm", "end_logits/layer_norm"),
            *dense_rows("end_logits/dense_1", "end_logits/dense"),
            *dense_rows("answer_class/dense_0", "answerability_logits/hidden"),
            Row("answer_class/dense_1/kernel", "answerability_logits/dense/kernel"),
        )
    ),
    # Google's code for RACE has a classifier of one class.
    "multiple_choice": ForeignHead(
        google=_GOOGLE_CLASSIFIER,
        huggingface=torch_dense("classifier", "logits"),
        architectures=("AlbertForMultipleChoice",),
        dropout_keys=("classifier_dropout_prob",),
    ),
    "text_embedding": ForeignHead(sentence_transformers=torch_dense("linear", "dense")),
}


def foreign_head(head):
    """Returns the `ForeignHead` of a head; empty if only this package has the head."""
    return FOREIGN_HEADS.get(head, ForeignHead())


def head_rows(checkpoint, head):
    """Returns the `Row`s of a head in a `Checkpoint`, none if its source has none.

    Args:
        checkpoint: `Checkpoint`, or its class.
        head: str or `None`.
    """
    foreign = foreign_head(head)
    return sum((getattr(foreign, layout) for layout in checkpoint.layouts), ())


def head_of(model):
    """Returns the head of a model or of its class, or `None` for a backbone.

    A subclass has the head of its nearest registered base class.
    """
    heads = {AlbertBackbone: None}
    for head, spec in HEADS.items():
        heads |= dict.fromkeys((spec.model, *spec.same_variables), head)
    model_class = model if isinstance(model, type) else type(model)
    for base in model_class.__mro__:
        if base in heads:
            return heads[base]
    names = ", ".join(base.__name__ for base in heads)
    raise TypeError(f"`model` must be one of {names}. Received: {model!r}.")
