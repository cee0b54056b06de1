"""Files, storage, processes, signals and progress bars."""
