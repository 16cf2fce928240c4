// Runs stages of a compiled kernel on the team of ragged.runtime, without Python: emulator CODE.so IMAGE (STAGE WORKERS)...
//
// IMAGE is a file that is mapped and changed: int64 words, of which the first is the number of arguments, the second the
// offset of the status words, and then two for each argument: its type as tvm_ffi has it, and its value, for an address the
// offset in the file. A stage that fails a check ends the run; the caller reads the status words.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "team.h"

namespace {

using namespace ragged;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "emulator: %s\n", what);
  std::exit(1);
}

std::int64_t* map(const char* path) {
  const int file = open(path, O_RDWR);
  struct stat status {};
  if (file < 0 || fstat(file, &status) != 0) fail("no image");
  void* memory = mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) fail("the image cannot be mapped");
  return static_cast<std::int64_t*>(memory);
}

std::vector<Value> arguments_in(std::int64_t* image) {
  const auto address = [image](std::int64_t offset) { return reinterpret_cast<std::int64_t>(image) + offset; };
  std::vector<Value> values;
  for (std::int64_t i = 0; i < image[0]; ++i) {
    const std::int64_t type = image[2 + 2 * i], value = image[3 + 2 * i];
    if (type == Value::kInt) values.push_back(Value::integer(value));
    if (type == Value::kPointer) values.push_back(Value::pointer(address(value)));
    if (type == Value::kNone) values.emplace_back();
  }
  values.push_back(Value::pointer(address(image[1])));
  values.resize(values.size() + 2);
  return values;
}

}  // namespace

int main(int count, char** words) {
  if (count < 3) fail("emulator CODE.so IMAGE (STAGE WORKERS)...");
  void* code = dlopen(words[1], RTLD_NOW);
  if (code == nullptr) fail(dlerror());
  std::int64_t* image = map(words[2]);
  const auto* failed = image + image[1] / 8;
  Job job{nullptr, arguments_in(image)};
  for (int i = 3; i + 1 < count && *failed == 0; i += 2) {
    auto call = reinterpret_cast<FunctionObject::Call>(dlsym(code, words[i]));
    if (call == nullptr) fail(dlerror());
    FunctionObject function{1, 0, 0, nullptr, call};
    const std::int64_t workers = std::atoll(words[i + 1]);
    job.function = &function;
    image[image[1] / 8 + 1] = 0;  // the barrier's tickets
    const Team::Outcome outcome = Team::of_process().run(job, workers, Team::kForever);
    if (outcome.result != 0) fail("a stage refused its arguments");
    if (outcome.workers != workers) fail("the system started too few threads");
    if (*failed != 0) std::puts(words[i]);
  }
  if (!Team::of_process().disband()) fail("a run has not ended");
  return 0;
}
