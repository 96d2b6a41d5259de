"""Launches a kernel of Warp's: by itself, by a launch that is kept, in a captured graph; prints what was computed."""

import warp as wp

LAUNCHES, KEPT, REPLAYS = 10, 7, 5
wp.config.quiet = True


@wp.kernel
def advance(positions: wp.array(dtype=float), velocity: float):
    i = wp.tid()
    positions[i] = positions[i] + velocity


positions = wp.zeros(1000, dtype=float, device="cpu")
wp.launch(advance, dim=1000, inputs=[positions, 1.0], device="cpu")
for _ in range(LAUNCHES - 1):
    wp.launch(advance, dim=1000, inputs=[positions, 1.0], device="cpu")
kept = wp.launch(advance, dim=1000, inputs=[positions, 1.0], device="cpu", record_cmd=True)
for _ in range(KEPT):
    kept.launch()
with wp.ScopedCapture(device="cpu") as capture:
    wp.launch(advance, dim=1000, inputs=[positions, 1.0], device="cpu")
for _ in range(REPLAYS):
    wp.capture_launch(capture.graph)
print(float(positions.numpy()[0]))
