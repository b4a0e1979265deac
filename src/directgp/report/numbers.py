"""Number formatting for reports: few digits, grouped thousands, a real minus sign."""

import math


def number(value: float, digits: int = 4) -> str:
    """A number with about `digits` significant digits.

    >>> number(206855.8), number(-0.04012), number(0.0), number(1.5e9), number(2e-7)
    ('206,856', '−0.04012', '0', '1.5e9', '2e-7')
    """
    if not math.isfinite(value):
        return "–"
    if value == round(value) and abs(value) < 1e7:
        return _signed(f"{value:,.0f}")
    size = math.floor(math.log10(abs(value)))
    if not -5 < size < 8:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        return _signed(f"{mantissa}e{int(exponent)}")
    return _signed(f"{value:,.{max(0, digits - 1 - size)}f}")


def with_error(mean: float, error: float) -> str:
    """A mean ± its standard error, both to the error's second digit.

    >>> with_error(0.401234, 0.01234), with_error(68712.0, 431.0), with_error(1.0, float("nan"))
    ('0.401 ± 0.012', '68,710 ± 430', '1')
    """
    if not (math.isfinite(mean) and math.isfinite(error)) or error <= 1e-9 * abs(mean):
        return number(mean)
    size = math.floor(math.log10(error))
    places = 1 - size
    if places > 8 or size > 8:
        return f"{number(mean)} ± {number(error, 2)}"
    return _signed(
        f"{round(mean, places):,.{max(0, places)}f} ± {round(error, places):,.{max(0, places)}f}"
    )


def mean_and_error(mean: float, error: float) -> tuple[str, str]:
    """The two parts of `with_error`, the second with its sign; empty if there is no error.

    >>> mean_and_error(0.53512, 0.0781), mean_and_error(2.0, float("nan"))
    (('0.535', '± 0.078'), ('2', ''))
    """
    value, sign, spread = with_error(mean, error).partition(" ± ")
    return value, f"± {spread}" if sign else ""


def percent(share: float, digits: int = 1) -> str:
    """A share as a percentage.

    >>> percent(0.8931), percent(0.9, 0)
    ('89.3 %', '90 %')
    """
    if not math.isfinite(share):
        return "–"
    return _signed(f"{100 * share:.{digits}f} %")


def tick(value: float, step: float) -> str:
    """The label of a tick on an axis whose ticks are `step` apart.

    >>> tick(200000.0, 50000.0), tick(0.25, 0.05), tick(-3.0, 1.0), tick(2.5e6, 5e5)
    ('200k', '0.25', '−3', '2.5M')
    >>> tick(7500.0, 2500.0), tick(10000.0, 2500.0)
    ('7.5k', '10k')
    """
    for unit, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= unit and step >= unit / 100 and (unit > 1e3 or step >= 1e3):
            shown = _plain(value / unit, step / unit)
            return _signed(shown.rstrip("0").rstrip(".") if "." in shown else shown) + suffix
    if abs(value) < step / 1e6:
        return "0"
    if step >= 1e6 or step < 1e-4:
        return _signed(f"{value:.2g}")
    return _signed(_plain(value, step))


def _plain(value: float, step: float) -> str:
    places = max(0, -math.floor(math.log10(step) + 1e-9))
    # A step of 2.5 needs a digit more than its size says.
    if abs(round(step, places) - step) > 1e-9 * step:
        places += 1
    return f"{value:,.{places}f}"


def _signed(text: str) -> str:
    if text.startswith("-"):
        text = "−" + text[1:]
    return "0" + text[2:] if text.startswith("−0") and not text.strip("−0.,") else text
