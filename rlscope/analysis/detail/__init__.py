"""What the sweep finds where somebody asks for detail: functions, bins, iterations, instances of operations, events."""
