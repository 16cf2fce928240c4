// A compiled stage and tvm_ffi's C calling convention. The layouts are those of <tvm/ffi/c_api.h>, TVMFFIAny,
// TVMFFIObject and TVMFFIFunctionCell, which tvm_ffi keeps stable; nothing of tvm_ffi is linked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ragged {

// One argument, TVMFFIAny: a number, an address, or nothing.
struct Value {
  enum Type : std::int32_t { kNone = 0, kInt = 1, kPointer = 4 };

  std::int32_t type = kNone;
  std::uint32_t zero = 0;
  std::int64_t payload = 0;

  static Value integer(std::int64_t value) { return {kInt, 0, value}; }
  static Value pointer(std::int64_t address) { return {address == 0 ? kNone : kPointer, 0, address}; }
};
static_assert(sizeof(Value) == 16 && offsetof(Value, payload) == 8);

// TVMFFIObject, the header of every tvm_ffi object, followed by a function's fields.
struct FunctionObject {
  using Call = int (*)(void* self, const Value* arguments, std::int32_t count, Value* result);

  std::uint64_t references;
  std::int32_t type;
  std::uint32_t padding;
  void (*deleter)(void*, int);
  Call call;
};
static_assert(sizeof(void*) == 8 && offsetof(FunctionObject, call) == 24);

// A stage's call, run by each worker with the same arguments, but for the last two: its number and the number of workers.
struct Job {
  FunctionObject* function = nullptr;
  std::vector<Value> arguments;

  // Returns the stage's result, not zero for arguments that it refuses.
  int run(std::int64_t worker, std::int64_t workers);
};

}  // namespace ragged
