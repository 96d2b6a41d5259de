"""This package runs beside a measured process, not inside it: samplers, and a clock for other machines."""
