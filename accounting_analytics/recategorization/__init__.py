"""Change categories: queue, rules, suggestions, review grid, plan, apply, verify and undo."""
