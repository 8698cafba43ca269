"""Generator of the books of the demo company, from a fixed seed."""
