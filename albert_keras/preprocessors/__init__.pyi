from .base import AlbertPreprocessor as AlbertPreprocessor
from .masked_lm import AlbertMaskedLMPreprocessor as AlbertMaskedLMPreprocessor
from .masked_lm import AlbertPretrainerPreprocessor as AlbertPretrainerPreprocessor
from .multiple_choice import (
    AlbertMultipleChoicePreprocessor as AlbertMultipleChoicePreprocessor,
)
from .question_answering import (
    AlbertJointQuestionAnswererPreprocessor as AlbertJointQuestionAnswererPreprocessor,
)
from .question_answering import (
    AlbertQuestionAnswererPreprocessor as AlbertQuestionAnswererPreprocessor,
)
from .text_classification import (
    AlbertTextClassifierPreprocessor as AlbertTextClassifierPreprocessor,
)
from .text_classification import (
    AlbertTextEmbedderPreprocessor as AlbertTextEmbedderPreprocessor,
)
from .token_classification import (
    AlbertTokenClassifierPreprocessor as AlbertTokenClassifierPreprocessor,
)
