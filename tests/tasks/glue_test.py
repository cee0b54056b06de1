"""GLUE's tasks on its files."""

from albert_keras.tasks import TASKS


def test_sst2_reads_the_official_files_with_the_papers_recipe(shared):
    task = TASKS["sst-2"]
    rows = task.read(shared / "data" / "glue" / "SST-2" / "dev.tsv")
    assert len(rows.texts) == 872
    assert (rows.labels.count("0"), rows.labels.count("1")) == (428, 444)
    recipe = task.recipe
    assert (recipe.learning_rate, recipe.batch_size) == (1e-5, 32)
    assert recipe.steps_for(67349) == (20935, 1256)
