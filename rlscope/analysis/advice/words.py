"""Numbers as sentences of advice have them."""


def as_percent(share: float) -> str:
    """Return a share of 0.5 as "50 %"."""
    return f"{100 * share:.0f} %"


def as_s(seconds: float) -> str:
    """Return 0.02 seconds as "20 ms"."""
    if seconds >= 1000:
        return f"{seconds:,.0f} s"
    unit, name = (1, "s") if seconds >= 0.1 else (1e3, "ms") if seconds >= 1e-4 else (1e6, "us")
    return f"{seconds * unit:.3g} {name}"


def as_bytes(size: float) -> str:
    """Return 1,572,864 bytes as "1.5 MiB"."""
    units = ("bytes", "KiB", "MiB", "GiB", "TiB")
    power = 0
    while abs(size) >= 1000 and power + 1 < len(units):
        size, power = size / 1024, power + 1
    return f"{size:.3g} {units[power]}"


def as_times(factor: float) -> str:
    """Return a factor of 1.666 as "1.7"."""
    return f"{factor:,.0f}" if factor >= 100 else f"{factor:.2g}"
