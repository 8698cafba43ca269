"""From the uncategorized queue to changed books and back: queue, rules, suggestions, grid, plan, apply, undo."""
