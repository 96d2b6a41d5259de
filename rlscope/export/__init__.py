"""Files for other programs' viewers, notebooks and dashboards. All draw from `rlscope.analysis.detail.slices`."""
