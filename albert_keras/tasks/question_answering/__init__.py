"""Extractive question answering."""

from albert_keras.tasks.question_answering.heads import ANSWER_HEADS
from albert_keras.tasks.question_answering.task import (
    CMRC2018,
    SQUAD,
    SQUAD2,
    QuestionAnsweringTask,
)
