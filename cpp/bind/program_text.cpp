// Kernels of programs as CUDA C++, and how their parameters lie in memory.
#include <pybind11/stl.h>

#include "program.hpp"
#include "program/emit/emit.hpp"
#include "program/needs.hpp"
#include "program/written.hpp"

namespace tilewright::bind {

namespace {

using program::Marks;
using program::Program;
using program::ProgramError;

const program::Function& kernel_of(const Program& program, std::size_t index) {
  const program::Function& function = program.functions.at(index);
  if (!function.is_kernel) throw ProgramError(function.name + " is no kernel: it runs on the host");
  return function;
}

Marks marks_of(const std::string& name) {
  if (name == "every") return Marks::kEvery;
  if (name == "changes") return Marks::kChanges;
  if (name == "none") return Marks::kNone;
  throw ProgramError("marks are every, changes or none, not " + name);
}

// Where each parameter begins, as C++ places them, and the bytes of all.
std::pair<std::vector<uint32_t>, uint32_t> parameter_places(const Program& program, std::size_t index) {
  std::vector<uint32_t> offsets;
  uint32_t end = 0;
  for (const program::ValueId id : program.blocks[kernel_of(program, index).body].parameters) {
    const program::Type& type = program.type(id);
    const uint32_t bytes = program::parameter_bytes(type);
    const uint32_t align = program::parameter_alignment(type);
    offsets.push_back((end + align - 1) / align * align);
    end = offsets.back() + bytes;
  }
  return {offsets, end};
}

}  // namespace

void bind_program_text(py::module_& m) {
  m.def(
      "cuda_source",
      [](const Program& program, std::size_t index, const std::string& marks) {
        return program::cuda_source(program, kernel_of(program, index), marks_of(marks));
      },
      py::arg("program"), py::arg("function"), py::arg("marks") = "changes",
      "A kernel as CUDA C++; its lines of Python are marked at changes, every line or none.");
  m.def(
      "cuda_name",
      [](const Program& program, std::size_t index) { return program::cuda_name(kernel_of(program, index)); },
      py::arg("program"), py::arg("function"), "The name of a kernel in its CUDA C++.");
  m.def(
      "host_c_source",
      [](const Program& program, std::size_t index, const std::string& name) {
        const program::Function& function = program.functions.at(index);
        if (function.is_kernel) throw ProgramError(function.name + " is a kernel: it does not run on the host");
        return program::host_c_source(program, function, name);
      },
      py::arg("program"), py::arg("function"), py::arg("name"),
      "A host function as C: static int name(name_Module *module, CUstream stream, its parameters).");
  m.def(
      "most_needed",
      [](const Program& program, std::size_t index) {
        const program::Need need = program::most_needed(program, kernel_of(program, index));
        const program::Place& place = program.places[need.place];
        return py::make_tuple(need.architecture, need.what, place.file, place.line);
      },
      py::arg("program"), py::arg("function"),
      "(least architecture, as 80 of sm_80, instruction, file, line) of what of a kernel needs the most; 0: nothing "
      "does.");
  m.def(
      "written_parameters",
      [](const Program& program, std::size_t index) {
        const program::Function& function = program.functions.at(index);
        std::map<std::string, std::pair<std::string, int>> found;
        for (const program::Written& one : program::written_parameters(program, function)) {
          const program::ValueId id = program.blocks[function.body].parameters.at(one.parameter);
          if (program.type(id).is_number()) continue;  // an address, or what is added to one
          const program::Place& place = program.places[one.place];
          found.emplace(function.parameters.at(one.parameter), std::pair(place.file, place.line));
        }
        return found;
      },
      py::arg("program"), py::arg("function"),
      "{name: (file, line)} of the pointers and tensor maps of a function that memory is written through, and where "
      "first.");
  m.def("parameter_places", parameter_places, py::arg("program"), py::arg("function"),
        "(where each parameter of a kernel begins, the bytes of all) in the memory that a launch is given.");
}

}  // namespace tilewright::bind
