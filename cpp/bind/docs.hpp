// The docstrings of the Python functions that live in C++. tests/docs/test_doctests.py runs their examples.
#pragma once

#include "docs_algebra.hpp"
#include "docs_function.hpp"
#include "docs_int_tuple.hpp"
#include "docs_layout.hpp"
#include "docs_modes.hpp"
#include "docs_tiling.hpp"
