"""The one object that owns a State and a Store, and the one committer for changes."""
