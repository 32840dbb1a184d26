"""The change log: its format, pages for watchers, and compaction."""
