// TreeGRU, and a TreeLSTM whose nodes have three children, each with weights of its own.
#pragma once

#include "levels.hpp"

// r, z = σ(U h~ + b), g = tanh(U_g (r h~) + b_g), h = z h~ + (1 - z) g. Leaves stand in the table, which the rows begin with.
class TreeGRU : public Model {
 public:
  TreeGRU(int workers, int64_t hidden, int64_t vocab, const float* U, const float* b, const float* U_g,
          const float* b_g, const float* table)
      : Model(workers, hidden), vocab(vocab), b(b), b_g(b_g), table(table), U(team(U, 2, hidden)),
        U_g(team(U_g, 1, hidden)), sums(workers) {}

 protected:
  void prepare(const Batch& batch) override {
    if (batch.rows() > rows) {
      rows = batch.rows() + batch.rows() / 2;
      std::memcpy(h.need(rows * hidden), table, sizeof(float) * vocab * hidden);
    }
    const int64_t most = widest(batch);
    total.need(most * hidden);
    reset.need(most * hidden);
    for (int worker = 0; worker < workers; ++worker) sums[worker].need(most * 2 * slices[worker].width());
    upward(batch, [&](const Level& level) { prepare_team(U, level.count), prepare_team(U_g, level.count); });
  }

  void work(const Batch& batch, int worker, float* const* out) override {
    const Slice slice = slices[worker];
    const int64_t wide = slice.width();
    upward(batch, [&](const Level& level) {
      sum_children(total.get(), h.get(), level, 2, hidden, slice);
#pragma omp barrier
      float* sum = sums[worker].get();
      (*U[worker])(level.count, total.get(), sum);
      for (int64_t i = 0; i < level.count; ++i) {
        const float *row = sum + i * 2 * wide, *below = total.get() + i * hidden + slice.begin;
        float *to = reset.get() + i * hidden + slice.begin, *state = h.get() + (level.begin + i) * hidden + slice.begin;
        const float* bias = b + slice.begin;
#pragma omp simd
        for (int64_t j = 0; j < wide; ++j) {
          to[j] = sigmoid(row[j] + bias[j]) * below[j];
          state[j] = sigmoid(row[wide + j] + bias[hidden + j]);  // z, until g is there
        }
      }
#pragma omp barrier
      (*U_g[worker])(level.count, reset.get(), sum);
      for (int64_t i = 0; i < level.count; ++i) {
        const float *row = sum + i * wide, *below = total.get() + i * hidden + slice.begin, *bias = b_g + slice.begin;
        float* state = h.get() + (level.begin + i) * hidden + slice.begin;
#pragma omp simd
        for (int64_t j = 0; j < wide; ++j)
          state[j] = state[j] * below[j] + (1.0f - state[j]) * fast_tanh(row[j] + bias[j]);
      }
    });
    gather(out[0], h.get(), batch.roots, batch.num_roots, hidden, slice);
  }

 private:
  int64_t vocab, rows = 0;
  const float *b, *b_g, *table;
  Team U, U_g;
  Floats h, total, reset;
  std::vector<Floats> sums;
};

// i, o = σ, u = tanh, f_k = σ of W [h_1; h_2; h_3] + b, gate after gate; c = i u + Σ_k f_k c_k, h = o tanh(c).
class TernaryLSTM : public Model {
 public:
  TernaryLSTM(int workers, int64_t hidden, const float* W, const float* b, const float* leaf_h, const float* leaf_c)
      : Model(workers, hidden), b(b), leaf_h(leaf_h), leaf_c(leaf_c), W(team(W, 6, 3 * hidden)), sums(workers) {}

 protected:
  void prepare(const Batch& batch) override {
    const int64_t most = widest(batch);
    h.need(batch.rows() * hidden);
    c.need(batch.rows() * hidden);
    for (auto& buffer : below) buffer.need(most * 3 * hidden);
    for (int worker = 0; worker < workers; ++worker) sums[worker].need(most * 6 * slices[worker].width());
    upward(batch, [&](const Level& level) { prepare_team(W, level.count); });
  }

  void work(const Batch& batch, int worker, float* const* out) override {
    const Slice slice = slices[worker];
    gather(h.get(), leaf_h, batch.words, batch.num_words, hidden, slice);
    gather(c.get(), leaf_c, batch.words, batch.num_words, hidden, slice);
    int turn = 0;
    upward(batch, [&](const Level& level) {
      float* three = below[turn ^= 1].get();
      gather(three, h.get(), level.children, 3 * level.count, hidden, slice);
#pragma omp barrier
      (*W[worker])(level.count, three, sums[worker].get());
      for (int64_t i = 0; i < level.count; ++i) finish(worker, level.begin + i, i, level.children + 3 * i);
    });
    gather(out[0], h.get(), batch.roots, batch.num_roots, hidden, slice);
  }

 private:
  void finish(int worker, int64_t row, int64_t i, const int64_t* children) {
    const Slice slice = slices[worker];
    const int64_t wide = slice.width();
    const float *sum = sums[worker].get() + i * 6 * wide, *bias = b + slice.begin;
    float *h_row = h.get() + row * hidden + slice.begin, *c_row = c.get() + row * hidden + slice.begin;
    const float* below[3];
    for (int k = 0; k < 3; ++k) below[k] = c.get() + children[k] * hidden + slice.begin;
#pragma omp simd
    for (int64_t j = 0; j < wide; ++j) {
      float sum_c = sigmoid(sum[j] + bias[j]) * fast_tanh(sum[2 * wide + j] + bias[2 * hidden + j]);
      sum_c += sigmoid(sum[3 * wide + j] + bias[3 * hidden + j]) * below[0][j];
      sum_c += sigmoid(sum[4 * wide + j] + bias[4 * hidden + j]) * below[1][j];
      sum_c += sigmoid(sum[5 * wide + j] + bias[5 * hidden + j]) * below[2][j];
      c_row[j] = sum_c;
      h_row[j] = sigmoid(sum[wide + j] + bias[hidden + j]) * fast_tanh(sum_c);
    }
  }

  const float *b, *leaf_h, *leaf_c;
  Team W;
  Floats h, c, below[2];
  std::vector<Floats> sums;
};
