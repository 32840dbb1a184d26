"""The change log as a topic: its messages, the publisher, and a copy for readers."""
