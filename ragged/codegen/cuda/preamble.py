"""What stands before every kernel: the integer operators that C++ has no word for, and the barrier of the grid.

Floats are left as the program says them: `nvcc -fmad=false` fuses no multiplication with an addition.
"""

PREAMBLE = """\
template <typename T> __device__ __forceinline__ T ragged_floordiv(T a, T b) {
  if (b == 0) return 0;
  const T quotient = a / b;
  return quotient - (a % b != 0 && (a % b < 0) != (b < 0));
}

template <typename T> __device__ __forceinline__ T ragged_mod(T a, T b) {
  if (b == 0) return a;
  const T rest = a % b;
  return rest + (rest != 0 && (rest < 0) != (b < 0) ? b : 0);
}

// NaN if one is NaN, and b of two zeros.
template <typename T> __device__ __forceinline__ T ragged_min(T a, T b) { return a < b || a != a ? a : b; }
template <typename T> __device__ __forceinline__ T ragged_max(T a, T b) { return a > b || a != a ? a : b; }
template <typename T> __device__ __forceinline__ T ragged_abs(T a) { return a < 0 ? -a : a; }

// Two bfloat16, each the upper half of a float: rounded to the nearest, the even one of two that are as near.
__device__ __forceinline__ unsigned int ragged_upper_half(float x) {
  const unsigned int bits = __float_as_uint(x), upper = bits >> 16;
  return x == x ? (bits + 0x7fffu + (upper & 1u)) >> 16 : upper | 0x40u;
}
__device__ __forceinline__ unsigned int ragged_pair(float first, float second) {
  return ragged_upper_half(first) << 16 | ragged_upper_half(second);
}
__device__ __forceinline__ float ragged_dot(unsigned int a, unsigned int b, float c) {
  const float first = fmaf(__uint_as_float(a & 0xffff0000u), __uint_as_float(b & 0xffff0000u), c);
  return fmaf(__uint_as_float(a << 16), __uint_as_float(b << 16), first);
}

// All threads of all blocks meet, and see what any of them wrote before. The blocks have to run at once, which a
// cooperative launch sees to. `arrived` is zero when the kernel begins, and counts blocks from barrier to barrier.
__device__ __forceinline__ void ragged_grid_barrier(unsigned int* arrived, unsigned int& goal) {
  goal += gridDim.x;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1u);
    while (static_cast<int>(*reinterpret_cast<volatile unsigned int*>(arrived) - goal) < 0) {
    }
    __threadfence();
  }
  __syncthreads();
}
"""

RESERVED = (
    "ragged_floordiv ragged_mod ragged_min ragged_max ragged_abs ragged_upper_half "
    "ragged_pair ragged_dot ragged_grid_barrier ragged_shared ragged_arrived ragged_goal"
)
"""The names that it takes, and those that each kernel has."""
