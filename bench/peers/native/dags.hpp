// Cells over DAGs whose nodes have up to three children: where there are fewer, row 0 stands, a state of zeros.
#pragma once

#include "levels.hpp"

// h = tanh(x + U h~ + b), where a node carries x.
class DagRNN : public Model {
 public:
  DagRNN(int workers, int64_t hidden, const float* U, const float* b)
      : Model(workers, hidden), b(b), U(team(U, 1, hidden)), sums(workers) {}

 protected:
  void prepare(const Batch& batch) override {
    std::memset(h.need(batch.rows() * hidden), 0, sizeof(float) * hidden);
    for (auto& buffer : below) buffer.need(widest(batch) * hidden);
    for (int worker = 0; worker < workers; ++worker) sums[worker].need(widest(batch) * slices[worker].width());
    upward(batch, [&](const Level& level) { prepare_team(U, level.count); });
  }

  void work(const Batch& batch, int worker, float* const* out) override {
    const Slice slice = slices[worker];
    const int64_t wide = slice.width();
    int turn = 0;
    upward(batch, [&](const Level& level) {
      float *total = below[turn ^= 1].get(), *sum = sums[worker].get();
      sum_children(total, h.get(), level, batch.arity, hidden, slice);
#pragma omp barrier
      (*U[worker])(level.count, total, sum);
      for (int64_t i = 0; i < level.count; ++i) {
        const float *row = sum + i * wide, *bias = b + slice.begin;
        const float* x = batch.payload + (level.begin - batch.first() + i) * hidden + slice.begin;
        float* state = h.get() + (level.begin + i) * hidden + slice.begin;
#pragma omp simd
        for (int64_t j = 0; j < wide; ++j) state[j] = fast_tanh(row[j] + x[j] + bias[j]);
      }
    });
    gather(out[0], h.get(), batch.roots, batch.num_roots, hidden, slice);
  }

 private:
  const float* b;
  Team U;
  Floats h, below[2];
  std::vector<Floats> sums;
};

// z = σ(x_z + U_z h~ + b_z), u = tanh(x_u + U_u h~ + b_u), e_k = σ(x_e + U_e h_k + b_e) for each child;
// h = z u + (1 - z) tanh(½ Σ_k e_k h_k). A node carries x_z, x_u and x_e one after another. U_e h_k is computed once for
// each node, with its level.
class GatedDag : public Model {
 public:
  GatedDag(int workers, int64_t hidden, const float* U, const float* b, const float* U_e, const float* b_e)
      : Model(workers, hidden), b(b), b_e(b_e), U(team(U, 2, hidden)), U_e(team(U_e, 1, hidden)), sums(workers),
        edges(workers) {}

 protected:
  void prepare(const Batch& batch) override {
    std::memset(h.need(batch.rows() * hidden), 0, sizeof(float) * hidden);
    for (auto& buffer : below) buffer.need(widest(batch) * hidden);
    for (int worker = 0; worker < workers; ++worker) {
      const int64_t wide = slices[worker].width();
      sums[worker].need(widest(batch) * 2 * wide);
      std::memset(edges[worker].need(batch.rows() * wide), 0, sizeof(float) * wide);
    }
    upward(batch, [&](const Level& level) { prepare_team(U, level.count), prepare_team(U_e, level.count); });
  }

  void work(const Batch& batch, int worker, float* const* out) override {
    const Slice slice = slices[worker];
    const int64_t wide = slice.width();
    Level done{0, 0, nullptr};
    int turn = 0;
    upward(batch, [&](const Level& level) {
      float* total = below[turn ^= 1].get();
      sum_children(total, h.get(), level, batch.arity, hidden, slice);
#pragma omp barrier
      (*U_e[worker])(done.count, h.get() + done.begin * hidden, edges[worker].get() + done.begin * wide);
      (*U[worker])(level.count, total, sums[worker].get());
      for (int64_t i = 0; i < level.count; ++i) finish(batch, worker, level, i);
      done = level;
    });
    gather(out[0], h.get(), batch.roots, batch.num_roots, hidden, slice);
  }

 private:
  void finish(const Batch& batch, int worker, const Level& level, int64_t i) {
    const Slice slice = slices[worker];
    const int64_t wide = slice.width(), *child = level.children + i * batch.arity;
    const float *sum = sums[worker].get() + i * 2 * wide, *bias = b + slice.begin, *bias_e = b_e + slice.begin;
    const float* x = batch.payload + (level.begin - batch.first() + i) * 3 * hidden + slice.begin;
    float* state = h.get() + (level.begin + i) * hidden + slice.begin;
    std::memset(state, 0, sizeof(float) * wide);
    for (int64_t k = 0; k < batch.arity; ++k) {
      if (child[k] == 0) continue;
      const float *edge = edges[worker].get() + child[k] * wide, *below = h.get() + child[k] * hidden + slice.begin;
#pragma omp simd
      for (int64_t j = 0; j < wide; ++j) state[j] += sigmoid(edge[j] + x[2 * hidden + j] + bias_e[j]) * below[j];
    }
#pragma omp simd
    for (int64_t j = 0; j < wide; ++j) {
      const float z = sigmoid(sum[j] + x[j] + bias[j]), kept = fast_tanh(0.5f * state[j]);
      state[j] = kept + z * (fast_tanh(sum[wide + j] + x[hidden + j] + bias[hidden + j]) - kept);
    }
  }

  const float *b, *b_e;
  Team U, U_e;
  Floats h, below[2];
  std::vector<Floats> sums, edges;
};
