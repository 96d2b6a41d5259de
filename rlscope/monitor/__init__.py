"""Everything that runs beside a measured process and not inside it: samplers, and a clock for other machines."""
