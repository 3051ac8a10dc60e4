// The driver of fake_driver.c with pinned memory, events and streams.
#define cuGetProcAddress_v2 get_other_function
#include "fake_driver.c"
#undef cuGetProcAddress_v2

static int cuMemHostAlloc(void** memory, size_t bytes, unsigned flags) {
  char detail[64];
  snprintf(detail, sizeof detail, "%zu flags %u", bytes, flags);
  *memory = malloc(bytes);
  return note("cuMemHostAlloc", detail);
}
static int cuMemFreeHost(void* memory) { return free(memory), note("cuMemFreeHost", ""); }
static int cuEventCreate(void** event, unsigned flags) {
  static char events;
  *event = &events;
  return note("cuEventCreate", flags == 2 ? "without timing" : "");
}
static int note_stream(const char* name, void* stream) {
  char detail[64];
  snprintf(detail, sizeof detail, "stream %zu", (size_t)stream);
  return note(name, detail);
}
static int cuEventRecord(void* event, void* stream) { return (void)event, note_stream("cuEventRecord", stream); }
static int cuEventDestroy(void* event) { return (void)event, note("cuEventDestroy", ""); }
static int cuStreamWaitEvent(void* stream, void* event, unsigned flags) {
  return (void)event, (void)flags, note_stream("cuStreamWaitEvent", stream);
}
static int cuStreamSynchronize(void* stream) { return note_stream("cuStreamSynchronize", stream); }

int cuGetProcAddress_v2(const char* name, void** address, int version, unsigned long long flags, int* status) {
  static const struct {
    const char* name;
    void* address;
  } table[] = {F(cuMemHostAlloc), F(cuMemFreeHost),     F(cuEventCreate),      F(cuEventRecord),
               F(cuEventDestroy), F(cuStreamWaitEvent), F(cuStreamSynchronize)};
  for (size_t i = 0; i < sizeof table / sizeof *table; ++i) {
    if (strcmp(name, table[i].name) == 0) return *address = table[i].address, *status = 0;
  }
  return get_other_function(name, address, version, flags, status);
}
