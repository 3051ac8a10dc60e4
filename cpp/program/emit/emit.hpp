// A kernel of a program as CUDA C++ over the device library.
#pragma once

#include <string>

#include "program/program.hpp"

namespace tilewright::program {

// Where the text says from which line of Python it comes: wherever that changes, as people read it, or before every
// line, as compilers need it for what they tell of each.
enum class Marks : uint8_t { kNone, kChanges, kEvery };

// Raises ProgramError for what has no meaning on a device.
std::string cuda_source(const Program& program, const Function& function, Marks marks);
// The name of its kernel there.
std::string cuda_name(const Function& function);
// A host function as C, which needs no Python to run: `static int NAME(NAME_Module *module, CUstream stream, ...)` with
// its parameters, pointers as uint64_t. It is 0, or the error of the first thing that fails. Raises ProgramError, with
// the line of Python, for what C does not do here: to print, to return something, or to record events. What it calls is
// in python/tilewright/lang/export/runtime.c.
std::string host_c_source(const Program& program, const Function& function, const std::string& name);
// A parameter of the kernel in memory, in bytes.
uint32_t parameter_bytes(const Type& type);
uint32_t parameter_alignment(const Type& type);

}  // namespace tilewright::program
