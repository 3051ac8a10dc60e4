"""The numbers of a kernel in plain Python: integers that wrap around, floats of every width, and what operators give.

A number is a Python int, float or bool that its type holds. The texts that `wrapped`, `converted` and `operated` give
are evaluated with the names of this module.
"""

import math
from fractions import Fraction

import numpy as np

INTEGERS = ("Int32", "Int8", "Int16", "Int64", "Uint8", "Uint16", "Uint32", "Uint64")
FLOATS = ("Float32", "Float64", "Float16", "BFloat16")
TYPES = (*INTEGERS, "Boolean", *FLOATS)
WIDTHS = {"Boolean": 1, "Float32": 32, "Float64": 64, "Float16": 16, "BFloat16": 16}
WIDTHS |= {name: int(name.lstrip("IUint")) for name in INTEGERS}


def is_float(scalar):
    return scalar in FLOATS


def is_unsigned(scalar):
    return scalar[0] in "UB" and scalar not in FLOATS


# ---- which type ----


def common(a, b):
    """The type in which two numbers are computed."""
    if a == b:
        return a
    if is_float(a) and is_float(b):
        return "Float32" if WIDTHS[a] == WIDTHS[b] else max(a, b, key=WIDTHS.get)
    if is_float(a) or is_float(b):
        return a if is_float(a) else b
    return max(a, b, key=lambda scalar: (WIDTHS[scalar], is_unsigned(scalar)))


def beside(a, number):
    """The same for a number and a Python number."""
    if is_float(a):
        return a
    if isinstance(number, float):
        return "Float32"
    if a == "Boolean":
        a = "Int32"
    return a if -(1 << WIDTHS[a] - 1) <= number < 1 << WIDTHS[a] else "Int64"


def under(symbol, scalar):
    """The type of the result of an operator on two numbers of a type."""
    if scalar == "Boolean" and symbol not in "&|^":
        scalar = "Int32"
    if symbol == "/" and not is_float(scalar):
        return "Float32" if WIDTHS[scalar] <= 32 else "Float64"
    return scalar


# ---- rounding and wrapping ----


def _wrap(width, signed):
    mask, half = (1 << width) - 1, 1 << width - 1
    if signed:
        return lambda x: ((x + half) & mask) - half
    return lambda x: x & mask


Int8, Int16, Int32, Int64 = (_wrap(width, True) for width in (8, 16, 32, 64))
Uint8, Uint16, Uint32, Uint64 = (_wrap(width, False) for width in (8, 16, 32, 64))
Boolean = bool


def _exact(x):
    """A Python float that rounds to any narrower type as the integer does."""
    cut = x.bit_length() - 53
    if cut <= 0:
        return float(x)
    sign, magnitude = (-1, -x) if x < 0 else (1, x)
    kept = magnitude >> cut
    return float(sign * ((kept | (kept << cut != magnitude)) << cut))


def Float64(x):
    return float(x)


def _rounding(kind, beyond):
    """Rounding by NumPy, which warns of numbers that become infinite: those from `beyond` on."""

    def rounded(x):
        x = x if x.__class__ is float else _exact(x)
        return math.copysign(math.inf, x) if x >= beyond or x <= -beyond else float(kind(x))

    return rounded


Float32 = _rounding(np.float32, 2.0**128 - 2.0**103)
Float16 = _rounding(np.float16, 65520.0)


def BFloat16(x):
    """Of float's 53 bits 8 stay, or fewer below 2^-126; ties go to even."""
    x = x if x.__class__ is float else _exact(x)
    if x == 0 or not math.isfinite(x):
        return x
    exponent = max(math.frexp(x)[1], -125) - 8
    rounded = math.ldexp(round(math.ldexp(x, -exponent)), exponent)
    return rounded if abs(rounded) < 2.0**128 else math.copysign(math.inf, x)


def saturated(x, least, most):
    """The integer nearest to a float towards zero, of those that the type holds."""
    if x != x:
        return 0
    return most if x >= most else least if x <= least else int(x)


def limits(scalar):
    width = WIDTHS[scalar]
    return (0, (1 << width) - 1) if is_unsigned(scalar) else (-(1 << width - 1), (1 << width - 1) - 1)


# ---- operators ----


def divide(x, y):
    if y:
        return x / y
    if x == 0 or x != x or y != y:
        return math.nan
    return math.copysign(math.inf, x) * math.copysign(1.0, y)


def rest(x, y):
    return math.fmod(x, y) if math.isfinite(x) and y else math.nan


def float_mod(x, y, fit):
    """Python's x % y, every operation rounded by `fit`."""
    mod = rest(x, y)
    if mod == 0:
        return math.copysign(mod, y)
    return fit(mod + y) if (mod < 0) != (y < 0) else mod


def float_floor_div(x, y, fit):
    """Python's x // y, every operation rounded by `fit`."""
    mod = rest(x, y)
    quotient = fit(divide(fit(x - mod), y))
    if mod != 0 and (mod < 0) != (y < 0):
        quotient = fit(quotient - 1)
    if quotient == 0:
        return math.copysign(0.0, divide(x, y))
    if not math.isfinite(quotient):
        return quotient
    whole = float(math.floor(quotient))
    return fit(whole + 1) if quotient - whole > 0.5 else whole


def extreme(function, x, y):
    """C's fmin and fmax: a number where the other is NaN; zeros are told apart by no one, so that the result is +0."""
    x, y = (y, x) if x != x else (x, y)
    return (x if y != y else function(x, y)) + 0.0


def sqrt(x):
    return math.nan if x < 0 or x != x else math.sqrt(x)


def integral(function, x):
    return math.copysign(float(function(x)), x) if math.isfinite(x) else x


def fused(x, y, z, is_widest=False):
    """x * y + z, rounded once: to odd at 53 bits, so that rounding again to a narrower type cannot go wrong."""
    if not all(map(math.isfinite, (x, y, z))):
        return x * y + z
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    if exact == 0:
        return x * y + z
    try:
        near = exact.numerator / exact.denominator
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
    if is_widest or not math.isfinite(near) or Fraction(near) == exact:
        return near
    low, high = sorted((near, math.nextafter(near, math.inf if Fraction(near) < exact else -math.inf)))
    return low if int(math.ldexp(math.frexp(low)[0], 53)) & 1 else high


# ---- as text ----


def wrapped(scalar, text):
    return f"bool({text})" if scalar == "Boolean" else f"{scalar}({text})"


def converted(text, source, target):
    """The text of a conversion, as C converts; floats saturate to integers, and NaN becomes 0."""
    if source == target:
        return text
    if target == "Boolean":
        return f"(({text}) != 0)"
    if is_float(source) and not is_float(target):
        return "saturated(({}), {}, {})".format(text, *limits(target))
    if is_float(target) and not is_float(source):
        return f"{target}(int({text}))"
    return f"{target}({text})"


def operated(symbol, scalar, x, y):
    """The text of x symbol y, both of a type, of which the result is, too."""
    if is_float(scalar):
        fit = "Float32" if scalar in ("Float16", "BFloat16") else scalar
        if symbol in ("//", "%"):
            return f"{scalar}({'float_mod' if symbol == '%' else 'float_floor_div'}({x}, {y}, {fit}))"
        if symbol in ("min", "max"):
            return f"extreme({symbol}, {x}, {y})"
        text = f"divide({x}, {y})" if symbol == "/" else f"({x}) {symbol} ({y})"
        return text if scalar == "Float64" else f"{scalar}({text})"
    if symbol in ("min", "max"):
        return f"{symbol}({x}, {y})"
    if symbol == "**":
        return f"{scalar}(pow({x}, {y}, 1 << 64))"
    if symbol == "<<":
        return f"{scalar}(({x}) << min({y}, 64))"
    if scalar == "Boolean":
        return f"bool(({x}) {symbol} ({y}))"
    return f"{scalar}(({x}) {symbol} ({y}))"


def permuted(a, b, selector):
    """The bytes of a and b that four nibbles choose; bit 3 of a nibble repeats the sign."""
    both, result = b << 32 | a, 0
    for i in range(4):
        which = selector >> 4 * i & 15
        byte = both >> 8 * (which & 7) & 255
        result |= ((255 if byte & 128 else 0) if which & 8 else byte) << 8 * i
    return result


# ---- layouts ----


def at(layout, index):
    """What a layout such as "(4,(3,2)):(1,(4,0))" gives for a 1-D coordinate."""
    shape, stride = _PARSED.get(layout) or _PARSED.setdefault(layout, tuple(map(_flat, layout.split(":"))))
    offset = 0
    for extent, step in zip(shape[:-1], stride, strict=False):
        offset += index % extent * step
        index //= extent
    return offset + index * stride[-1]


_PARSED = {}


def _flat(text):
    return [int(x) for x in text.replace("(", "").replace(")", "").split(",")]


def swizzled(swizzle, offset):
    bits, base, shift = swizzle
    mask = (1 << bits) - 1 << base
    if shift >= 0:
        return offset ^ (offset & mask << shift) >> shift
    return offset ^ (offset & mask) << -shift


def linear(extent, i, j):
    return j * extent + i
