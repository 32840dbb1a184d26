"""The shape cache: what requests of one shape share."""
