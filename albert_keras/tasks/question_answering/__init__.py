"""Extractive question answering."""

from albert_keras.tasks.question_answering.task import (
    ANSWER_HEADS,
    CMRC2018,
    SQUAD,
    SQUAD2,
    QuestionAnsweringTask,
)
