// LSTM and GRU over sequences: the inputs of all steps are one product, and a level is a step of each sequence.
#pragma once

#include "levels.hpp"

// What both do with inputs and with the steps before.
class Sequences : public Model {
 public:
  Sequences(int workers, int64_t hidden, int64_t gates, const float* W, const float* b)
      : Model(workers, hidden), gates(gates), b(b), W(team(W, gates, hidden)), inputs(workers) {}

 protected:
  void prepare(const Batch& batch) override {
    const int64_t steps = batch.rows() - batch.first();
    if (batch.rows() > rows) {
      rows = batch.rows() + batch.rows() / 2;
      std::memset(h.need(rows * hidden), 0, sizeof(float) * hidden);  // what stands before each first step
    }
    for (auto& buffer : before) buffer.need(widest(batch) * hidden);
    for (int worker = 0; worker < workers; ++worker) inputs[worker].need(steps * gates * slices[worker].width());
    prepare_team(W, steps);
  }

  void multiply_inputs(const Batch& batch, int worker) {
    (*W[worker])(batch.rows() - batch.first(), batch.payload, inputs[worker].get());
  }

  // The states that the steps of a level go on from, one after another: where they stand, or this worker's columns copied.
  const float* states_before(const Level& level, int turn, Slice slice) {
    bool there = true;
    for (int64_t i = 1; i < level.count; ++i) there &= level.children[i] == level.children[0] + i;
    if (there) return h.get() + level.children[0] * hidden;
    gather(before[turn].get(), h.get(), level.children, level.count, hidden, slice);
    return before[turn].get();
  }

  // The products of a step's input, this worker's columns of them.
  const float* input(const Batch& batch, const Level& level, int64_t i, int worker) const {
    return inputs[worker].get() + (level.begin - batch.first() + i) * gates * slices[worker].width();
  }

  int64_t gates, rows = 0;
  const float* b;
  Team W;
  Floats h, before[2];
  std::vector<Floats> inputs;
};

// i, o, f = σ(W x + U h' + b), u = tanh of the same; c = i u + f c', h = o tanh(c). The gates in this order.
class LSTM : public Sequences {
 public:
  LSTM(int workers, int64_t hidden, const float* W, const float* b, const float* U)
      : Sequences(workers, hidden, 4, W, b), U(team(U, 4, hidden)), sums(workers) {}

 protected:
  void prepare(const Batch& batch) override {
    Sequences::prepare(batch);
    std::memset(c.need(batch.rows() * hidden), 0, sizeof(float) * hidden);
    for (int worker = 0; worker < workers; ++worker) sums[worker].need(widest(batch) * 4 * slices[worker].width());
    upward(batch, [&](const Level& level) { prepare_team(U, level.count); });
  }

  void work(const Batch& batch, int worker, float* const* out) override {
    const Slice slice = slices[worker];
    multiply_inputs(batch, worker);
    int turn = 0;
    upward(batch, [&](const Level& level) {
      const float* states = states_before(level, turn ^= 1, slice);
#pragma omp barrier
      (*U[worker])(level.count, states, sums[worker].get());
      for (int64_t i = 0; i < level.count; ++i) {
        finish(worker, level.begin + i, level.children[i], sums[worker].get() + i * 4 * slice.width(),
               input(batch, level, i, worker));
      }
    });
    gather(out[0], h.get(), batch.roots, batch.num_roots, hidden, slice);
  }

 private:
  void finish(int worker, int64_t row, int64_t child, const float* sum, const float* x) {
    const Slice slice = slices[worker];
    const int64_t wide = slice.width();
    const float *bias = b + slice.begin, *c_below = c.get() + child * hidden + slice.begin;
    float *h_row = h.get() + row * hidden + slice.begin, *c_row = c.get() + row * hidden + slice.begin;
    auto gate = [&](int64_t g, int64_t j) { return sum[g * wide + j] + x[g * wide + j] + bias[g * hidden + j]; };
#pragma omp simd
    for (int64_t j = 0; j < wide; ++j) {
      c_row[j] = sigmoid(gate(0, j)) * fast_tanh(gate(3, j)) + sigmoid(gate(2, j)) * c_below[j];
      h_row[j] = sigmoid(gate(1, j)) * fast_tanh(c_row[j]);
    }
  }

  Team U;
  Floats c;
  std::vector<Floats> sums;
};

// r, z = σ(W x + U h' + b), g = tanh(W_g x + U_g (r h') + b_g), h = z h' + (1 - z) g. The gates in this order.
class GRU : public Sequences {
 public:
  GRU(int workers, int64_t hidden, const float* W, const float* b, const float* U, const float* U_g)
      : Sequences(workers, hidden, 3, W, b), U(team(U, 2, hidden)), U_g(team(U_g, 1, hidden)), sums(workers) {}

 protected:
  void prepare(const Batch& batch) override {
    Sequences::prepare(batch);
    const int64_t most = widest(batch);
    reset.need(most * hidden);
    for (int worker = 0; worker < workers; ++worker) sums[worker].need(most * 2 * slices[worker].width());
    upward(batch, [&](const Level& level) { prepare_team(U, level.count), prepare_team(U_g, level.count); });
  }

  void work(const Batch& batch, int worker, float* const* out) override {
    const Slice slice = slices[worker];
    const int64_t wide = slice.width();
    multiply_inputs(batch, worker);
    int turn = 0;
    upward(batch, [&](const Level& level) {
      const float *states = states_before(level, turn ^= 1, slice), *bias = b + slice.begin;
#pragma omp barrier
      float* sum = sums[worker].get();
      (*U[worker])(level.count, states, sum);
      for (int64_t i = 0; i < level.count; ++i) {
        const float *row = sum + i * 2 * wide, *x = input(batch, level, i, worker);
        const float* below = states + i * hidden + slice.begin;
        float *to = reset.get() + i * hidden + slice.begin, *state = h.get() + (level.begin + i) * hidden + slice.begin;
#pragma omp simd
        for (int64_t j = 0; j < wide; ++j) {
          to[j] = sigmoid(row[j] + x[j] + bias[j]) * below[j];
          state[j] = sigmoid(row[wide + j] + x[wide + j] + bias[hidden + j]);  // z, until g is there
        }
      }
#pragma omp barrier
      (*U_g[worker])(level.count, reset.get(), sum);
      for (int64_t i = 0; i < level.count; ++i) {
        const float *row = sum + i * wide, *x = input(batch, level, i, worker) + 2 * wide;
        const float* below = states + i * hidden + slice.begin;
        float* state = h.get() + (level.begin + i) * hidden + slice.begin;
#pragma omp simd
        for (int64_t j = 0; j < wide; ++j)
          state[j] = state[j] * below[j] + (1.0f - state[j]) * fast_tanh(row[j] + x[j] + bias[2 * hidden + j]);
      }
    });
    gather(out[0], h.get(), batch.roots, batch.num_roots, hidden, slice);
  }

 private:
  Team U, U_g;
  Floats reset;
  std::vector<Floats> sums;
};

// The same with g = tanh(W_g x + r (U_g h' + d) + b_g): one product for all that the state is multiplied with.
class GRUResetAfter : public Sequences {
 public:
  GRUResetAfter(int workers, int64_t hidden, const float* W, const float* b, const float* U, const float* d)
      : Sequences(workers, hidden, 3, W, b), d(d), U(team(U, 3, hidden)), sums(workers) {}

 protected:
  void prepare(const Batch& batch) override {
    Sequences::prepare(batch);
    for (int worker = 0; worker < workers; ++worker) sums[worker].need(widest(batch) * 3 * slices[worker].width());
    upward(batch, [&](const Level& level) { prepare_team(U, level.count); });
  }

  void work(const Batch& batch, int worker, float* const* out) override {
    const Slice slice = slices[worker];
    const int64_t wide = slice.width();
    multiply_inputs(batch, worker);
    int turn = 0;
    upward(batch, [&](const Level& level) {
      const float *states = states_before(level, turn ^= 1, slice), *bias = b + slice.begin, *late = d + slice.begin;
#pragma omp barrier
      (*U[worker])(level.count, states, sums[worker].get());
      for (int64_t i = 0; i < level.count; ++i) {
        const float *row = sums[worker].get() + i * 3 * wide, *x = input(batch, level, i, worker);
        const float* below = states + i * hidden + slice.begin;
        float* state = h.get() + (level.begin + i) * hidden + slice.begin;
#pragma omp simd
        for (int64_t j = 0; j < wide; ++j) {
          const float r = sigmoid(row[j] + x[j] + bias[j]);
          const float z = sigmoid(row[wide + j] + x[wide + j] + bias[hidden + j]);
          const float g = fast_tanh(r * (row[2 * wide + j] + late[j]) + x[2 * wide + j] + bias[2 * hidden + j]);
          state[j] = z * below[j] + (1.0f - z) * g;
        }
      }
    });
    gather(out[0], h.get(), batch.roots, batch.num_roots, hidden, slice);
  }

 private:
  const float* d;
  Team U;
  std::vector<Floats> sums;
};
