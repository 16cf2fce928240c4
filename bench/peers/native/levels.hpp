// A batch as flat arrays, the rows of states, and what every cell does with them.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "linear.hpp"

// As bench/peers/levels.py makes it. `begins` (depths + 1): inner nodes of depth d are the rows from begins[d] to
// begins[d + 1]; `children` (inner, arity) and `roots` are rows; `words` are the leaves'; `payload` (inner, ...).
struct Batch {
  int64_t depths, arity, num_words, num_roots;
  const int64_t* begins, *children, *words, *roots;
  const float* payload;

  int64_t first() const { return begins[0]; }
  int64_t rows() const { return begins[depths]; }
};

struct Level {
  int64_t begin, count;
  const int64_t* children;
};

// Calls visit(level) for each depth that has inner nodes, the deepest first.
template <typename Visit>
void upward(const Batch &batch, Visit visit) {
  for (int64_t depth = batch.depths; depth-- > 0;) {
    const int64_t begin = batch.begins[depth], count = batch.begins[depth + 1] - begin;
    if (count) visit(Level{begin, count, batch.children + (begin - batch.first()) * batch.arity});
  }
}

inline int64_t widest(const Batch &batch) {
  int64_t most = 0;
  upward(batch, [&](const Level &level) { most = std::max(most, level.count); });
  return most;
}

// exp within 2 units in the last place, for loops that the compiler turns into vectors.
inline float fast_exp(float x) {
  x = std::min(88.0f, std::max(-87.0f, x));
  const float power = std::nearbyint(x * 1.44269504f);
  const float rest = std::fma(power, 2.12194440e-4f, std::fma(power, -0.693359375f, x));
  float sum = 1.9875691500e-4f;
  sum = std::fma(sum, rest, 1.3981999507e-3f);
  sum = std::fma(sum, rest, 8.3334519073e-3f);
  sum = std::fma(sum, rest, 4.1665795894e-2f);
  sum = std::fma(sum, rest, 1.6666665459e-1f);
  sum = std::fma(sum, rest, 5.0000001201e-1f);
  sum = std::fma(sum, rest * rest, rest + 1.0f);
  const int32_t bits = (static_cast<int32_t>(power) + 127) << 23;
  float scale;
  std::memcpy(&scale, &bits, sizeof scale);
  return sum * scale;
}

inline float sigmoid(float x) { return 1.0f / (1.0f + fast_exp(-x)); }
inline float fast_tanh(float x) { return 2.0f / (1.0f + fast_exp(-2.0f * x)) - 1.0f; }

// Columns [begin, end) of to[i] = from[rows[i]], for i under count; rows are `wide` floats apart in both.
inline void gather(float* to, const float* from, const int64_t* rows, int64_t count, int64_t wide, Slice slice) {
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to + i * wide + slice.begin, from + rows[i] * wide + slice.begin, sizeof(float) * slice.width());
}

// Those columns of the sums of each node's children.
inline void sum_children(float* to, const float* from, const Level &level, int64_t arity, int64_t wide, Slice slice) {
  for (int64_t i = 0; i < level.count; ++i) {
    const int64_t* child = level.children + i * arity;
    float* sum = to + i * wide;
    const float* one = from + child[0] * wide, *two = from + child[1] * wide;
    if (arity == 2) {
#pragma omp simd
      for (int64_t j = slice.begin; j < slice.end; ++j) sum[j] = one[j] + two[j];
    } else {
      const float* three = from + child[2] * wide;
#pragma omp simd
      for (int64_t j = slice.begin; j < slice.end; ++j) sum[j] = one[j] + two[j] + three[j];
    }
  }
}

// A model made once. `run` makes what is missing for a batch's row counts; then a team of threads walks its levels
// together, each computing its own columns of every state, with a barrier where one needs another's.
class Model {
 public:
  Model(int workers, int64_t hidden) : workers(workers), hidden(hidden) {
    check(dnnl_engine_create(&engine, dnnl_cpu, 0), "engine");
    for (int worker = 0; worker < workers; ++worker) slices.push_back(slice_of(hidden, worker, workers));
  }
  virtual ~Model() { dnnl_engine_destroy(engine); }

  void run(const Batch &batch, float* const* out) {
    prepare(batch);
#pragma omp parallel num_threads(workers)
    work(batch, omp_get_thread_num(), out);
  }

 protected:
  virtual void prepare(const Batch &batch) = 0;
  virtual void work(const Batch &batch, int worker, float* const* out) = 0;

  // One for each worker, of the same weights.
  using Team = std::vector<std::unique_ptr<Linear>>;
  Team team(const float* weights, int64_t gates, int64_t in, const float* relu_bias = nullptr) {
    Team made;
    for (auto slice : slices) {
      const int64_t stride = relu_bias ? hidden : gates * slice.width();
      made.push_back(std::make_unique<Linear>(engine, weights, gates, hidden, in, slice, stride, relu_bias));
    }
    return made;
  }
  static void prepare_team(Team &team, int64_t rows) {
    for (auto &linear : team) linear->prepare(rows);
  }

  int workers;
  int64_t hidden;
  dnnl_engine_t engine;
  std::vector<Slice> slices;
};
