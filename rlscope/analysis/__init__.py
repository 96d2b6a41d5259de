"""Tables made from traces: pure functions, no figures."""
