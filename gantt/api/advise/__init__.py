"""The protocol of external schedulers, for clouds that send it today."""
