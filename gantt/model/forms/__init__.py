"""From every form in which Nova's words arrive to the values of ``gantt.model``."""
