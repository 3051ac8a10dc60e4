// Launcher: a callable that launches again what it launched before without going through Python.
#include <pybind11/pybind11.h>
#include <structmember.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "call_family.hpp"
#include "host_function.hpp"
#include "program/builder.hpp"
#include "vectorcall.hpp"
#include "without_gil.hpp"

namespace py = pybind11;

namespace tilewright::bind {

namespace {

struct Entry {
  uint64_t hash;
  std::vector<uint64_t> words;
  Prepared* prepared;
  py::object owner;              // of `prepared`
  std::vector<py::object> kept;  // objects whose identity is in the key
  Entry* next = nullptr;         // with the same bucket
  Entry* newer = nullptr;
};

// The launches of a launcher by their keys. When it is full the oldest goes.
class Table {
 public:
  Table() : buckets_(kBuckets) {}
  ~Table() { clear(); }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  Entry* find(const CallKey& key, uint64_t hash) const {
    for (Entry* entry = buckets_[hash % kBuckets]; entry != nullptr; entry = entry->next) {
      if (entry->hash == hash && entry->words.size() == key.size() &&
          std::memcmp(entry->words.data(), key.words(), key.size() * sizeof(uint64_t)) == 0) {
        return entry;
      }
    }
    return nullptr;
  }

  void add(std::unique_ptr<Entry> entry) {
    std::unique_ptr<Entry> gone;  // goes last: that may run Python code, which may use this table
    if (size_ == kEntries) gone = remove_oldest();
    Entry* added = entry.release();
    added->next = std::exchange(buckets_[added->hash % kBuckets], added);
    (newest_ ? newest_->newer : oldest_) = added;
    newest_ = added;
    ++size_;
  }

  void clear() {
    while (size_ != 0) remove_oldest();
  }

  size_t size() const { return size_; }
  const Entry* oldest() const { return oldest_; }

 private:
  static constexpr size_t kEntries = 4096;
  static constexpr size_t kBuckets = 2 * kEntries;

  std::unique_ptr<Entry> remove_oldest() {
    std::unique_ptr<Entry> entry(oldest_);
    oldest_ = entry->newer;
    if (oldest_ == nullptr) newest_ = nullptr;
    Entry** link = &buckets_[entry->hash % kBuckets];
    while (*link != entry.get()) link = &(*link)->next;
    *link = entry->next;
    --size_;
    return entry;
  }

  std::vector<Entry*> buckets_;
  Entry* oldest_ = nullptr;
  Entry* newest_ = nullptr;
  size_t size_ = 0;
};

struct Launcher {
  PyObject_HEAD  //
      vectorcallfunc call;
  PyObject* slow;        // nullptr: the method _slow of a subclass
  PyObject* parameters;  // a tuple of names
  PyObject* watched;     // nullptr, or a tuple: a namespace, a name in it and the value that it had, for each name
  PyObject* dict;
  PyObject* weak;
  Table table;
  std::vector<std::shared_ptr<Family>> families;  // the newest comes first
};

constexpr size_t kFamilies = 16;

// How often launchers of this thread were told to take the slow path only.
thread_local int paused = 0;

Launcher* self_of(PyObject* object) { return reinterpret_cast<Launcher*>(object); }

// Whether a launch can be repeated for calls with this key: what it needs are tensors, which are on its device.
bool fits(const Prepared& prepared, const CallKey& key) {
  const DLDevice device = prepared.device();
  return (prepared.tensors() & ~key.tensors()) == 0 && (prepared.arguments() & ~key.arguments()) == 0 &&
         prepared.given_stream() == (key.stream() != nullptr) && device.device_type == key.device().device_type &&
         device.device_id == key.device().device_id;
}

void remember(Launcher* self, const CallKey& key, uint64_t hash, const py::object& owner) {
  auto& prepared = owner.cast<Prepared&>();
  if (!fits(prepared, key) || self->table.find(key, hash) != nullptr) return;
  auto entry = std::make_unique<Entry>();
  entry->hash = hash;
  entry->words.assign(key.words(), key.words() + key.size());
  entry->prepared = &prepared;
  entry->owner = owner;
  entry->kept = kept_of(key);
  self->table.add(std::move(entry));
}

void remember_family(Launcher* self, const CallKey& key, const Prepared& prepared) {
  if (!fits(prepared, key)) return;
  std::shared_ptr<Family> made = Family::of(prepared, key);
  if (!made) return;
  std::shared_ptr<Family> gone;  // goes last, as entries do
  if (self->families.size() == kFamilies) {
    gone = std::move(self->families.back());
    self->families.pop_back();
  }
  self->families.insert(self->families.begin(), std::move(made));
}

// An entry for this key by one of the families.
const Entry* derive(Launcher* self, const CallKey& key, uint64_t hash) {
  const std::vector<std::shared_ptr<Family>> families = self->families;  // what is made may let others change them
  for (const auto& family : families) {
    const py::object prepared = family->prepare(key);
    if (prepared.is_none()) continue;
    remember(self, key, hash, prepared);
    return self->table.find(key, hash);
  }
  return nullptr;
}

PyObject* call_python(Launcher* self, PyObject* const* args, size_t positional, PyObject* keywords) {
  if (self->slow != nullptr) return PyObject_Vectorcall(self->slow, args, positional, keywords);
  static PyObject* const name = PyUnicode_InternFromString("_slow");
  const size_t count = positional + (keywords != nullptr ? static_cast<size_t>(PyTuple_GET_SIZE(keywords)) : 0);
  std::vector<PyObject*> all = {reinterpret_cast<PyObject*>(self)};
  all.insert(all.end(), args, args + count);
  return PyObject_VectorcallMethod(name, all.data(), positional + 1, keywords);
}

// Whether a name means another value than when it was watched. A cell is a namespace without names.
bool has_changed(PyObject* watched) {
  if (watched == nullptr || !PyTuple_CheckExact(watched)) return false;
  for (Py_ssize_t i = 0; i + 2 < PyTuple_GET_SIZE(watched); i += 3) {
    PyObject* const space = PyTuple_GET_ITEM(watched, i);
    PyObject* const now =
        PyCell_Check(space) ? PyCell_GET(space) : PyDict_GetItemWithError(space, PyTuple_GET_ITEM(watched, i + 1));
    if (now != PyTuple_GET_ITEM(watched, i + 2)) return true;
  }
  return false;
}

void forget_all(Launcher* self) {
  self->table.clear();
  const std::vector<std::shared_ptr<Family>> gone = std::move(self->families);
  self->families.clear();
}

// Calls slow(). The launch that it returns is remembered where there is a key.
PyObject* call_slow(Launcher* self, PyObject* const* args, size_t positional, PyObject* keywords, const CallKey* key,
                    uint64_t hash) {
  const auto answer = py::reinterpret_steal<py::object>(call_python(self, args, positional, keywords));
  if (!answer) return nullptr;
  py::object result, prepared;
  if (PyTuple_CheckExact(answer.ptr()) && PyTuple_GET_SIZE(answer.ptr()) == 2) {
    result = py::reinterpret_borrow<py::object>(PyTuple_GET_ITEM(answer.ptr(), 0));
    prepared = py::reinterpret_borrow<py::object>(PyTuple_GET_ITEM(answer.ptr(), 1));
  }
  if (!prepared || !(prepared.is_none() || py::isinstance<Prepared>(prepared))) {
    PyErr_Format(PyExc_TypeError, "the slow path of a Launcher must return (result, Prepared or None), not %R",
                 answer.ptr());
    return nullptr;
  }
  if (key != nullptr && !prepared.is_none()) {
    const CriticalSection section{py::handle(reinterpret_cast<PyObject*>(self))};
    remember(self, *key, hash, prepared);
    remember_family(self, *key, prepared.cast<const Prepared&>());
  }
  return result.release().ptr();
}

PyObject* call(PyObject* object, PyObject* const* args, size_t flags, PyObject* keywords) {
  Launcher* self = self_of(object);
  const auto positional = static_cast<size_t>(PyVectorcall_NARGS(flags));
  return python_call([&]() -> PyObject* {
    CallKey key;
    // While a function is traced, what it calls is a part of it.
    if (paused != 0 || program::current() != nullptr || !key.read(args, positional, keywords, self->parameters)) {
      return call_slow(self, args, positional, keywords, nullptr, 0);
    }
    if (has_changed(self->watched)) {
      PyErr_Clear();
      const CriticalSection section{py::handle(object)};
      forget_all(self);
    }
    const uint64_t hash = key.hash();
    Prepared* found = nullptr;
    py::object owner;
    {
      const CriticalSection section{py::handle(object)};
      const Entry* entry = self->table.find(key, hash);
      if (entry == nullptr) entry = derive(self, key, hash);
      if (entry != nullptr) {
        found = entry->prepared;
        // Python code, or another thread, may remove the entry.
        if (kWithoutGil || found->runs_python() || key.stream() != nullptr) owner = entry->owner;
      }
    }
    if (found == nullptr) return call_slow(self, args, positional, keywords, &key, hash);
    Prepared& prepared = *found;
    void* stream = nullptr;
    const bool has_stream =
        key.stream() != nullptr ? stream_of(key.stream(), stream) : current_stream(*key.api(), key.device(), stream);
    if (!has_stream || prepared.overlap(key.addresses()) != nullptr || !prepared.is_aligned(key.addresses())) {
      return call_slow(self, args, positional, keywords, nullptr, 0);
    }
    prepared.launch(key.addresses(), static_cast<runtime::Stream>(stream));
    PyObject* result = prepared.result() ? key.argument(*prepared.result()) : Py_None;
    Py_INCREF(result);
    return result;
  });
}

PyTypeObject* launcher_type = nullptr;

// The names of the parameters as the loop over them expects them.
py::object interned(PyObject* parameters) {
  if (!PyTuple_Check(parameters)) throw py::type_error("Launcher: parameters must be a tuple of names");
  py::tuple names(static_cast<size_t>(PyTuple_GET_SIZE(parameters)));
  for (size_t i = 0; i < names.size(); ++i) {
    PyObject* name = PyTuple_GET_ITEM(parameters, static_cast<Py_ssize_t>(i));
    if (!PyUnicode_CheckExact(name)) throw py::type_error("Launcher: parameters must be a tuple of names");
    Py_INCREF(name);
    PyUnicode_InternInPlace(&name);
    names[i] = py::reinterpret_steal<py::object>(name);
  }
  return names;
}

// A subclass may be made with any arguments: its slow path is its method _slow, and it sets its parameters.
PyObject* make(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"slow", "parameters", nullptr};
  PyObject* slow = nullptr;
  PyObject* parameters = nullptr;
  if (type == launcher_type &&
      !PyArg_ParseTupleAndKeywords(args, keywords, "O|O:Launcher", const_cast<char**>(names), &slow, &parameters)) {
    return nullptr;
  }
  return python_call([&]() -> PyObject* {
    py::object known = parameters != nullptr ? interned(parameters) : py::tuple();
    auto object = py::reinterpret_steal<py::object>(type->tp_alloc(type, 0));
    if (!object) throw py::error_already_set();
    Launcher* self = self_of(object.ptr());
    new (&self->table) Table;
    new (&self->families) std::vector<std::shared_ptr<Family>>;
    self->call = call;
    self->slow = py::reinterpret_borrow<py::object>(slow).release().ptr();
    self->parameters = known.release().ptr();
    return object.release().ptr();
  });
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  Launcher* self = self_of(object);
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->slow);
  Py_VISIT(self->dict);
  Py_VISIT(self->watched);
  for (const Entry* entry = self->table.oldest(); entry != nullptr; entry = entry->newer) {
    Py_VISIT(entry->owner.ptr());
    for (const py::object& kept : entry->kept) Py_VISIT(kept.ptr());
  }
  for (const auto& family : self->families) {
    if (const int stop = family->visit(visit, arg)) return stop;
  }
  return 0;
}

// slow stays: a call must not find it gone. The cycle is broken by the rest, or by what slow refers to.
int clear(PyObject* object) {
  Launcher* self = self_of(object);
  Py_CLEAR(self->dict);
  Py_CLEAR(self->watched);
  forget_all(self);
  return 0;
}

void dealloc(PyObject* object) {
  PyObject_GC_UnTrack(object);
  Launcher* self = self_of(object);
  if (self->weak != nullptr) PyObject_ClearWeakRefs(object);
  clear(object);
  self->table.~Table();
  self->families.~vector();
  Py_XDECREF(self->slow);
  Py_XDECREF(self->parameters);
  PyTypeObject* type = Py_TYPE(object);
  type->tp_free(object);
  Py_DECREF(type);
}

// What functools.update_wrapper has put there, or nothing with no error set.
py::object wrapped(PyObject* object, const char* name) {
  PyObject* dict = self_of(object)->dict;
  PyObject* found = dict != nullptr ? PyMapping_GetItemString(dict, name) : nullptr;
  if (found == nullptr) PyErr_Clear();
  return py::reinterpret_steal<py::object>(found);
}

PyObject* repr(PyObject* object) {
  const Launcher* self = self_of(object);
  const py::object module = wrapped(object, "__module__");
  const py::object name = wrapped(object, "__qualname__");
  if (!module || !name) return PyUnicode_FromFormat("<launcher of %R>", self->slow);
  return python_call([&]() -> PyObject* {
    const py::str parameters = py::str(", ").attr("join")(py::handle(self->parameters));
    return PyUnicode_FromFormat("<function %S.%S(%U)>", module.ptr(), name.ptr(), parameters.ptr());
  });
}

// As a function, it is copied and pickled by name.
PyObject* reduce(PyObject* object, PyObject*) {
  if (py::object name = wrapped(object, "__qualname__")) return name.release().ptr();
  PyErr_Format(PyExc_TypeError, "%R has no name by which it could be pickled or copied", object);
  return nullptr;
}

// An attribute of a class stays what it is. That there is __get__ tells inspect and help() that this is a function.
PyObject* get(PyObject* object, PyObject*, PyObject*) {
  Py_INCREF(object);
  return object;
}

PyObject* forget(PyObject* object, PyObject*) {
  const CriticalSection section{py::handle(object)};
  forget_all(self_of(object));
  Py_RETURN_NONE;
}

PyObject* parameters_of(PyObject* object, void*) {
  PyObject* parameters = self_of(object)->parameters;
  Py_INCREF(parameters);
  return parameters;
}

int set_parameters(PyObject* object, PyObject* value, void*) {
  PyObject* done = python_call([&]() -> PyObject* {
    py::object known = interned(value != nullptr ? value : Py_None);
    PyObject* before = std::exchange(self_of(object)->parameters, known.release().ptr());
    Py_DECREF(before);
    Py_RETURN_NONE;
  });
  Py_XDECREF(done);
  return done != nullptr ? 0 : -1;
}

PyObject* entries(PyObject* object, void*) {
  const CriticalSection section{py::handle(object)};
  return PyLong_FromSize_t(self_of(object)->table.size());
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Launcher, call), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(Launcher, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Launcher, weak), READONLY, nullptr},
    {"slow", T_OBJECT, offsetof(Launcher, slow), READONLY, nullptr},
    {"watched", T_OBJECT, offsetof(Launcher, watched), 0, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};

PyMethodDef methods[] = {
    {"clear", forget, METH_NOARGS, "Forget all launches."},
    {"__reduce__", reduce, METH_NOARGS, "By name, as a function."},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef properties[] = {
    {"entries", entries, nullptr, "Launches that are remembered.", nullptr},
    {"parameters", parameters_of, set_parameters, "The names of the slow path's parameters.", nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

}  // namespace

void bind_launcher(py::module_& m) {
  bind_exchange(m);
  bind_launch_hook(m);
  bind_kernel(m);
  bind_prepared(m);
  bind_host_function(m);
  bind_bound(m);
  m.def("pause_launchers", [] { ++paused; }, "Let all launchers take the slow path in this thread.");
  m.def("resume_launchers", [] { --paused; }, "Undo one pause_launchers().");
  static const char doc[] =
      "Launcher(slow, parameters=())\n--\n\n"
      "A callable that launches again, at the addresses of the new tensors, what slow(*args, **kwargs) prepared for "
      "arguments of the same kind: slow returns (result, Prepared or None). parameters are the names of slow's "
      "parameters; without its name there, a tensor given by keyword always goes to slow. A subclass is made with what "
      "arguments it likes, has its slow path as its method _slow, and sets its parameters. watched: None, or a tuple "
      "of a namespace (a dict, or a cell), a name in it and its value, for each name; where one means another value, "
      "all launches are forgotten.";
  static PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>(doc)},
      {Py_tp_new, slot(make)},
      {Py_tp_call, slot(PyVectorcall_Call)},
      {Py_tp_repr, slot(repr)},
      {Py_tp_descr_get, slot(get)},
      {Py_tp_traverse, slot(traverse)},
      {Py_tp_clear, slot(clear)},
      {Py_tp_dealloc, slot(dealloc)},
      {Py_tp_members, members},
      {Py_tp_methods, methods},
      {Py_tp_getset, properties},
      {0, nullptr},
  };
  static PyType_Spec spec = {"tilewright._core.cuda.Launcher", sizeof(Launcher), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                                 Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_BASETYPE,
                             slots};
  launcher_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (launcher_type == nullptr) throw py::error_already_set();
  m.add_object("Launcher", py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(launcher_type)));
}

}  // namespace tilewright::bind
