"""This file draws how busy each device was over time: its share of work for any process, beside its driver's report."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from rlscope.plots import style
from rlscope.plots.bars import as_label
from rlscope.plots.utilization import STRIP_INCHES, draw_keys, draw_strip

COLOURS = {"reported": "tab:gray", "busy": "tab:blue", "exposed": "tab:orange"}
KEYS = {"reported": "Reported", "busy": "Truly busy", "exposed": "Only communicating"}


def device_timeline_figure(table: pd.DataFrame, labels: Mapping[int, str]) -> Figure:
    """Draw one strip per device, over the same time.

    Args:
        table: `device_timeline` of an analysis, of at least one device.
        labels: what the devices are called, by number.
    """
    devices = list(dict.fromkeys(table["device"]))
    known = [kind for kind in COLOURS if table[kind].notna().any() and (kind != "exposed" or table[kind].any())]
    with style.paper():
        figure = Figure(figsize=(style.COLUMN_INCHES, STRIP_INCHES * max(len(devices), 2)), dpi=200)
        strip_axes = figure.subplots(len(devices), sharex=True, squeeze=False)[:, 0]
        for axes, device in zip(strip_axes, devices, strict=True):
            rows = table[table["device"] == device]
            seconds = (rows["start_s"] + rows["end_s"]) / 2
            strips = [pd.DataFrame({"source": kind, "seconds": seconds, "percent": 100 * rows[kind]}) for kind in known]
            draw_strip(axes, pd.concat(strips), "percent", COLOURS)
            axes.set_ylabel(f"{as_label(labels[device])} (%)")
            axes.set_ylim(0, 105)
        strip_axes[-1].set_xlabel("Time since recording began (s)")
        strip_axes[-1].set_xlim(np.min(table["start_s"]), np.max(table["end_s"]))
        draw_keys(figure, strip_axes[0], list(strip_axes[0].lines), [KEYS[kind] for kind in known])
        figure.align_ylabels()
    return figure
