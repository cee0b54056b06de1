"""Models by name: shipped, published, in a folder, or at an address of a hub."""
