"""Analysis of models, data and runs: parameter counts, baselines and plots."""

from typing import TYPE_CHECKING

from albert_keras.lazy import lazy_names

if TYPE_CHECKING:
    from albert_keras.analysis.confusion import plot_confusion_matrix
    from albert_keras.analysis.data_report import plot_data_report
    from albert_keras.analysis.figures import check_image_path
    from albert_keras.analysis.learning_curve import plot_learning_curve, read_log
    from albert_keras.analysis.ngram_baselines import trigram_loss, unigram_loss
    from albert_keras.analysis.parameters import count_parameters, parameter_table

__getattr__, __dir__, __all__ = lazy_names(__spec__)
