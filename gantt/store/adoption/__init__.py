"""Adoption: databases that OpenStack Placement made."""
