/* Calls by TVM's FFI: `int __tvm_ffi_NAME(void *, const TVMFFIAny *, int32_t, TVMFFIAny *)`, whose tensors are
   DLPack's. The two functions declared here are libtvm_ffi's; see tvm_text.py. */

typedef struct {
  int32_t type;
  uint32_t padding;
  union {
    int64_t integer;
    double real;
    void* pointer;
  } value;
} tw_any;

typedef struct {
  void* data;
  int32_t device_type, device;
  int32_t rank;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} tw_tensor;

enum {
  TW_ANY_NONE,
  TW_ANY_INTEGER,
  TW_ANY_BOOLEAN,
  TW_ANY_REAL,
  TW_ANY_POINTER,
  TW_ANY_DLTENSOR = 7,
  TW_ANY_TENSOR = 70
};
enum { TW_OBJECT_BYTES = 24 /* before the DLTensor of a tensor object */, TW_DEVICE_CUDA = 2 };

void TVMFFIErrorSetRaisedFromCStr(const char* kind, const char* message);
void* TVMFFIEnvGetStream(int32_t device_type, int32_t device);

TW int tw_raise(const char* kind) {
  TVMFFIErrorSetRaisedFromCStr(kind, tw_message);
  return -1;
}

/* What a tensor has to be: negative extents and strides are dynamic, and may have any value. */
typedef struct {
  const char* name;
  int rank, code, bits;
  const int64_t *shape, *strides;
} tw_expected;

TW int64_t tw_stride(const tw_tensor* tensor, int mode) {
  int64_t stride = 1;
  if (tensor->strides != 0) return tensor->strides[mode];
  for (++mode; mode < tensor->rank; ++mode) stride *= tensor->shape[mode];
  return stride;
}

TW void* tw_data(const tw_tensor* tensor) { return (char*)tensor->data + tensor->byte_offset; }

/* `device`: that of the tensors before it, -1 of the first one. */
TW int tw_read_tensor(const tw_any* any, const tw_expected* expected, int* device, const tw_tensor** found) {
  const tw_tensor* tensor = (const tw_tensor*)any->value.pointer;
  const char* name = expected->name;
  int i;
  if (any->type == TW_ANY_TENSOR) {
    tensor = (const tw_tensor*)((const char*)any->value.pointer + TW_OBJECT_BYTES);
  } else if (any->type != TW_ANY_DLTENSOR) {
    tw_fail(TW_INVALID_VALUE, "%s: expected a tensor, but got a value of TVM's type %d", name, any->type);
    return tw_raise("TypeError");
  }
  if (tensor->device_type != TW_DEVICE_CUDA) {
    tw_fail(TW_INVALID_VALUE, "%s: expected a tensor of a CUDA device, but it is on DLPack's device type %d", name,
            tensor->device_type);
    return tw_raise("ValueError");
  }
  if (*device >= 0 && *device != tensor->device) {
    tw_fail(TW_INVALID_VALUE, "%s is on cuda:%d, but the tensors before it on cuda:%d; move them to one device", name,
            tensor->device, *device);
    return tw_raise("ValueError");
  }
  *device = tensor->device;
  if (tensor->code != expected->code || tensor->bits != expected->bits || tensor->lanes != 1) {
    tw_fail(TW_INVALID_VALUE,
            "%s: expected elements of DLPack's type %d with %d bits, but they are %d with %d bits, %d lanes", name,
            expected->code, expected->bits, tensor->code, tensor->bits, tensor->lanes);
    return tw_raise("TypeError");
  }
  if (tensor->rank != expected->rank) {
    tw_fail(TW_INVALID_VALUE, "%s: expected %d modes, but it has %d", name, expected->rank, tensor->rank);
    return tw_raise("ValueError");
  }
  for (i = 0; i < expected->rank; ++i) {
    const int64_t extent = tensor->shape[i];
    if (expected->shape[i] >= 0 && extent != expected->shape[i]) {
      tw_fail(TW_INVALID_VALUE, "%s.shape[%d] is %lld, but the function was compiled for %lld, which is fixed in it",
              name, i, (long long)extent, (long long)expected->shape[i]);
      return tw_raise("ValueError");
    }
  }
  for (i = 0; i < expected->rank; ++i) {
    const int64_t stride = tw_stride(tensor, i);
    if (expected->strides[i] >= 0 && stride != expected->strides[i]) {
      tw_fail(TW_INVALID_VALUE, "%s.stride[%d] is %lld, but the function was compiled for %lld, which is fixed in it",
              name, i, (long long)stride, (long long)expected->strides[i]);
      return tw_raise("ValueError");
    }
  }
  *found = tensor;
  return 0;
}

TW int tw_read_integer(const tw_any* any, const char* name, int64_t least, int64_t most, int64_t* found) {
  if (any->type != TW_ANY_INTEGER && any->type != TW_ANY_BOOLEAN) {
    tw_fail(TW_INVALID_VALUE, "%s: expected an integer, but got a value of TVM's type %d", name, any->type);
    return tw_raise("TypeError");
  }
  *found = any->value.integer;
  if (*found >= least && *found <= most) return 0;
  tw_fail(TW_INVALID_VALUE, "%s is %lld; expected %lld to %lld", name, (long long)*found, (long long)least,
          (long long)most);
  return tw_raise("OverflowError");
}

TW int tw_read_real(const tw_any* any, const char* name, double* found) {
  *found = any->type == TW_ANY_REAL ? any->value.real : (double)any->value.integer;
  if (any->type == TW_ANY_REAL || any->type == TW_ANY_INTEGER || any->type == TW_ANY_BOOLEAN) return 0;
  tw_fail(TW_INVALID_VALUE, "%s: expected a number, but got a value of TVM's type %d", name, any->type);
  return tw_raise("TypeError");
}

TW int tw_read_pointer(const tw_any* any, const char* name, void** found) {
  *found = any->type == TW_ANY_NONE ? 0 : any->value.pointer;
  if (any->type == TW_ANY_POINTER || any->type == TW_ANY_INTEGER || any->type == TW_ANY_NONE) return 0;
  tw_fail(TW_INVALID_VALUE, "%s: expected a pointer, but got a value of TVM's type %d", name, any->type);
  return tw_raise("TypeError");
}

/* Makes a device's primary context the thread's; `before` is the other one that comes back, if there is one. */
TW int tw_enter_device(int device, void** before) {
  static void* contexts[64];
  void* current = 0;
  int error = tw_check(tw_driver.current(&current), "cuCtxGetCurrent");
  void* context = device < 64 ? __atomic_load_n(&contexts[device], __ATOMIC_ACQUIRE) : 0;
  if (error == 0 && context == 0) {
    error = tw_check(tw_driver.retain(&context, device), "cuDevicePrimaryCtxRetain");
    if (error == 0 && device < 64) __atomic_store_n(&contexts[device], context, __ATOMIC_RELEASE);
  }
  if (error != 0 || current == context) return error;
  *before = current;
  return tw_check(tw_driver.set_current(context), "cuCtxSetCurrent");
}
