"""Data sets of TensorFlow Datasets: small ones, and its own built without a network."""

import io

import pytest


def prepare(folder, features, splits):
    """Writes a data set as `tfds build` leaves it, without running TFDS' build.

    Args:
        folder: path. A data set's name and its version are the last two parts.
        features: Dict of TFDS features.
        splits: Dict from a split to its shards, which are lists of rows.
    """
    import tensorflow as tf

    tfds = pytest.importorskip("tensorflow_datasets")
    name, features = folder.parent.name, tfds.features.FeaturesDict(features)
    folder.mkdir(parents=True)
    for split, shards in splits.items():
        for index, rows in enumerate(shards):
            file = f"{name}-{split}.tfrecord-{index:05}-of-{len(shards):05}"
            with tf.io.TFRecordWriter(str(folder / file)) as writer:
                for row in rows:
                    encoded = features.encode_example(row)
                    writer.write(features.serialize_example(encoded))
    tfds.folder_dataset.write_metadata(
        data_dir=str(folder),
        features=features,
        split_infos=[
            tfds.core.SplitInfo(
                name=split, shard_lengths=list(map(len, shards)), num_bytes=0
            )
            for split, shards in splits.items()
        ],
        filename_template="{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}",
    )
    return folder


class Downloads:
    """Finds in a folder what a builder of TFDS would download.

    Args:
        folder: path. Of archives it holds what they hold, unpacked, and other files by
            the names that their addresses have.
    """

    downloaded_size = 0

    def __init__(self, folder):
        self.folder = folder

    def download(self, urls):
        """Returns the path of each address, that of an archive or of a file."""
        if isinstance(urls, dict):
            return {name: self.download(url) for name, url in urls.items()}
        files = [path for path in self.folder.iterdir() if path.name in urls]
        return next((path for path in files if path.is_file()), self.folder)

    download_and_extract = download

    def iter_archive(self, folder):
        """Yields the name and the content of each text of an archive."""
        for path in folder.rglob("*.txt"):
            name = path.relative_to(folder).as_posix()
            yield name, io.BytesIO(path.read_bytes())


def build(name, folder, data_dir):
    """Does what `tfds build` does, of files instead of downloads.

    Args:
        name: str. Data set and config, as in TFDS.
        folder: path. See `Downloads`.
        data_dir: path. Where TFDS keeps its data sets, `TFDS_DATA_DIR`.

    Returns:
        The TFDS builder.
    """
    tfds = pytest.importorskip("tensorflow_datasets")
    tfds.disable_progress_bar()
    builder = tfds.builder(name, data_dir=data_dir)
    builder._make_download_manager = lambda **_: Downloads(folder)
    builder.download_and_prepare()
    return builder
