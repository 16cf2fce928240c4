// A stand-in for a GPU and its driver: the kernel's own source, compiled for the host, run by one thread of the host
// for each thread of the grid. The text of the kernel, and KERNEL_CALL, stand where they are included.

#include <barrier>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(...)

namespace {
struct Dim {
  unsigned int x;
};
thread_local Dim blockIdx, threadIdx;
Dim gridDim;
thread_local std::barrier<>* block_barrier;
thread_local unsigned char* ragged_shared;

void __syncthreads() { block_barrier->arrive_and_wait(); }
void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
unsigned int atomicAdd(unsigned int* place, unsigned int value) {
  return __atomic_fetch_add(place, value, __ATOMIC_SEQ_CST);
}

unsigned int __float_as_uint(float value) { return std::bit_cast<unsigned int>(value); }
float __uint_as_float(unsigned int bits) { return std::bit_cast<float>(bits); }

std::mutex guard;
std::map<uint64_t, size_t> live;
int shared_limit = 48 * 1024;
int launches = 0, current = 0;

bool is_live(uint64_t address, size_t size) {
  auto after = live.upper_bound(address);
  if (after == live.begin()) return false;
  auto found = std::prev(after);
  return address + size <= found->first + found->second;
}
}  // namespace

#include KERNEL_SOURCE

extern "C" {
int standin_live() { return static_cast<int>(live.size()); }
int standin_launches() { return launches; }

int cuInit(unsigned int) { return 0; }
int cuDeviceGet(int* device, int) { return *device = 0; }
int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = &live;
  return 0;
}
int cuCtxSetCurrent(void* context) {
  current = context == &live;
  return current ? 0 : 201;
}
int cuModuleLoadData(void** module, const char* image) {
  if (std::memcmp(image, "\177ELF", 4) != 0) return 200;
  *module = &shared_limit;
  return 0;
}
int cuModuleGetFunction(void** function, void*, const char* name) {
  *function = &launches;
  return std::string(name) == KERNEL_NAME ? 0 : 500;
}
int cuFuncSetAttribute(void*, int attribute, int value) {
  shared_limit = value;
  return attribute == 8 ? 0 : 1;
}
int cuMemAlloc_v2(uint64_t* address, size_t size) {
  if (!current) return 201;
  std::lock_guard<std::mutex> held(guard);
  void* memory = std::aligned_alloc(256, (size + 255) / 256 * 256);
  std::memset(memory, 0xff, size);  // NaN
  *address = reinterpret_cast<uint64_t>(memory);
  live[*address] = size;
  return 0;
}
int cuMemFree_v2(uint64_t address) {
  std::lock_guard<std::mutex> held(guard);
  if (live.erase(address) == 0) return 1;
  std::free(reinterpret_cast<void*>(address));
  return 0;
}
int cuMemcpyHtoD_v2(uint64_t address, const void* from, size_t size) {
  if (!is_live(address, size)) return 1;
  std::memcpy(reinterpret_cast<void*>(address), from, size);
  return 0;
}
int cuMemcpyDtoH_v2(void* to, uint64_t address, size_t size) {
  if (!is_live(address, size)) return 1;
  std::memcpy(to, reinterpret_cast<void*>(address), size);
  return 0;
}
int cuLaunchCooperativeKernel(void*, unsigned int blocks, unsigned int, unsigned int, unsigned int threads,
                              unsigned int, unsigned int, unsigned int shared, void*, void** params) {
  if (static_cast<int>(shared) > shared_limit) return 1;
  ++launches;
  gridDim.x = blocks;
  std::vector<std::vector<unsigned char>> memory(blocks, std::vector<unsigned char>(shared + 16, 0xff));
  std::vector<std::thread> all;
  std::vector<std::barrier<>*> barriers;
  for (unsigned int b = 0; b < blocks; ++b) {
    barriers.push_back(new std::barrier<>(threads));
    for (unsigned int t = 0; t < threads; ++t) {
      all.emplace_back([=, &memory] {
        blockIdx.x = b;
        threadIdx.x = t;
        block_barrier = barriers[b];
        unsigned char* begin = memory[b].data();
        ragged_shared = begin + (16 - reinterpret_cast<uintptr_t>(begin) % 16) % 16;
        KERNEL_CALL;
      });
    }
  }
  for (auto& thread : all) thread.join();
  for (auto* barrier : barriers) delete barrier;
  return 0;
}
int cuEventCreate(void** event, unsigned int) {
  std::lock_guard<std::mutex> held(guard);
  *event = new std::chrono::steady_clock::time_point();
  live[reinterpret_cast<uint64_t>(*event)] = sizeof(std::chrono::steady_clock::time_point);
  return 0;
}
int cuEventDestroy_v2(void* event) {
  std::lock_guard<std::mutex> held(guard);
  if (live.erase(reinterpret_cast<uint64_t>(event)) == 0) return 400;
  delete static_cast<std::chrono::steady_clock::time_point*>(event);
  return 0;
}
int cuEventRecord(void* event, void*) {
  *static_cast<std::chrono::steady_clock::time_point*>(event) = std::chrono::steady_clock::now();
  return 0;
}
int cuEventSynchronize(void*) { return 0; }
int cuEventElapsedTime(float* milliseconds, void* begin, void* end) {
  const std::chrono::duration<float, std::milli> took = *static_cast<std::chrono::steady_clock::time_point*>(end) -
                                                        *static_cast<std::chrono::steady_clock::time_point*>(begin);
  *milliseconds = took.count();
  return 0;
}
int cuGetErrorString(int code, const char** text) {
  *text = code == 1 ? "invalid argument" : "an error";
  return 0;
}
}
