// An NVRTC that compiles everything to the same, and counts: call number n, from fake_fail_call(n) on, returns 5.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int calls, failing, programs;
static const char* failed = "";

int fake_calls(void) { return calls; }
int fake_programs(void) { return programs; }
const char* fake_failed(void) { return failed; }
void fake_fail_call(int number) { calls = 0, failing = number, failed = ""; }

static int result_of(const char* name) { return ++calls == failing ? (failed = name, 5) : 0; }

const char* nvrtcGetErrorString(int result) { return result == 5 ? "a fake error" : "no error"; }
int nvrtcVersion(int* major, int* minor) { return *major = 13, *minor = 0, result_of("nvrtcVersion"); }
int nvrtcCreateProgram(void** program, const char* source, const char* name, int count, const char* const* texts,
                       const char* const* names) {
  (void)source, (void)name, (void)count, (void)texts, (void)names;
  const int result = result_of("nvrtcCreateProgram");
  if (result == 0) *program = malloc(1), ++programs;
  return result;
}
int nvrtcDestroyProgram(void** program) {
  free(*program);
  --programs;
  return result_of("nvrtcDestroyProgram");
}
int nvrtcAddNameExpression(void* program, const char* name) {
  return (void)program, (void)name, result_of("nvrtcAddNameExpression");
}
int nvrtcCompileProgram(void* program, int count, const char* const* options) {
  return (void)program, (void)count, (void)options, result_of("nvrtcCompileProgram");
}
// A size, and so many bytes.
#define OUTPUT(what, text)                                                             \
  int nvrtcGet##what##Size(void* program, size_t* size) {                              \
    return (void)program, *size = sizeof text, result_of("nvrtcGet" #what "Size");     \
  }                                                                                    \
  int nvrtcGet##what(void* program, char* out) {                                       \
    return (void)program, memcpy(out, text, sizeof text), result_of("nvrtcGet" #what); \
  }
OUTPUT(ProgramLog, "log")
OUTPUT(PTX, "ptx")
static const char code[4] = {0x7f, 'E', 'L', 'F'};
OUTPUT(CUBIN, code)
int nvrtcGetLoweredName(void* program, const char* name, const char** lowered) {
  static char text[64];
  snprintf(text, sizeof text, "lowered %s", name);
  return (void)program, *lowered = text, result_of("nvrtcGetLoweredName");
}
