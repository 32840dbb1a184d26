"""The history of the schema, one alembic revision per file in ``versions``.

It stands apart from ``tables`` because a revision never changes once released: it says
what was done to databases, while ``tables`` says what they must look like now.
"""
