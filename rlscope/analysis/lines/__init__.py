"""The lines of a program: which of them had the time, made native calls, and waited for a device."""
