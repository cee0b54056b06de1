"""Files, processes and signals: what the package asks of the operating system."""
