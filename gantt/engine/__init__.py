"""The one object that owns a State and a Store, and the one gate for changes."""
