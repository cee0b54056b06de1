"""A model by its name: shipped, published, in a folder, or at an address of a hub."""
