// Child-sum cells with gates over trees (`Gated` of bench/peers/job.py).
#pragma once

#include "levels.hpp"

// The forget gates' product is computed once for each node, with its level, for its parent to use: it reads what has just
// been written, in order, and the leaves' is one large product.
class GatedCell : public Model {
 public:
  struct Params {
    int64_t gates, embed;
    const float* U, *b, *U_f, *b_f, *leaf_h, *leaf_c, *emb, *W;
  };

  GatedCell(int workers, int64_t hidden, const Params &params)
      : Model(workers, hidden), p(params), U(team(p.U, p.gates, hidden)), U_f(team(p.U_f, 1, hidden)) {
    if (p.W) W = team(p.W, p.gates, p.embed);
    sums.resize(workers);
    forget.resize(workers);
  }

 protected:
  void prepare(const Batch &batch) override {
    const int64_t leaves = batch.num_words, most = std::max(leaves, widest(batch));
    h.need(batch.rows() * hidden);
    c.need(batch.rows() * hidden);
    for (auto &buffer : below) buffer.need(widest(batch) * hidden);
    if (p.W) words.need(leaves * p.embed), prepare_team(W, leaves);
    prepare_team(U_f, leaves);
    upward(batch, [&](const Level &level) { prepare_team(U, level.count), prepare_team(U_f, level.count); });
    for (int worker = 0; worker < workers; ++worker) {
      sums[worker].need(most * p.gates * slices[worker].width());
      forget[worker].need(batch.rows() * slices[worker].width());
    }
  }

  void work(const Batch &batch, int worker, float* const* out) override {
    const Slice slice = slices[worker];
    const int64_t leaves = batch.num_words;
    leaf_states(batch, worker);
    Level done{0, leaves, nullptr};
    int turn = 0;
    upward(batch, [&](const Level &level) {
      float* sum = below[turn ^= 1].get();
      sum_children(sum, h.get(), level, 2, hidden, slice);
#pragma omp barrier
      (*U_f[worker])(done.count, h.get() + done.begin * hidden, forget[worker].get() + done.begin * slice.width());
      (*U[worker])(level.count, sum, sums[worker].get());
      for (int64_t i = 0; i < level.count; ++i) finish(worker, level.begin + i, i, level.children + 2 * i);
      done = level;
    });
    gather_roots(batch, worker, out[0]);
  }

 private:
  void leaf_states(const Batch &batch, int worker) {
    const Slice slice = slices[worker];
    if (!p.W) {
      gather(h.get(), p.leaf_h, batch.words, batch.num_words, hidden, slice);
      gather(c.get(), p.leaf_c, batch.words, batch.num_words, hidden, slice);
      return;
    }
    gather(words.get(), p.emb, batch.words, batch.num_words, p.embed, slice_of(p.embed, worker, workers));
#pragma omp barrier
    (*W[worker])(batch.num_words, words.get(), sums[worker].get());
    for (int64_t i = 0; i < batch.num_words; ++i) finish(worker, i, i, nullptr);
  }

  // h and c of a row, this worker's columns, from row i of its products.
  void finish(int worker, int64_t row, int64_t i, const int64_t* children) {
    const Slice slice = slices[worker];
    const int64_t wide = slice.width(), last = p.gates - 1;
    const float* sum = sums[worker].get() + i * p.gates * wide, *bias = p.b + slice.begin;
    float* h_row = h.get() + row * hidden + slice.begin, *c_row = c.get() + row * hidden + slice.begin;
#pragma omp simd
    for (int64_t j = 0; j < wide; ++j)
      c_row[j] = sigmoid(sum[j] + bias[j]) * fast_tanh(sum[last * wide + j] + bias[last * hidden + j]);
    for (int64_t gate = 2; gate < last; ++gate)
#pragma omp simd
      for (int64_t j = 0; j < wide; ++j) c_row[j] *= sigmoid(sum[gate * wide + j] + bias[gate * hidden + j]);
    for (int k = 0; children && k < 2; ++k) {
      const float* f = forget[worker].get() + children[k] * wide, *f_bias = p.b_f + slice.begin;
      const float* c_below = c.get() + children[k] * hidden + slice.begin;
#pragma omp simd
      for (int64_t j = 0; j < wide; ++j) c_row[j] += sigmoid(f[j] + f_bias[j]) * c_below[j];
    }
#pragma omp simd
    for (int64_t j = 0; j < wide; ++j) h_row[j] = sigmoid(sum[wide + j] + bias[hidden + j]) * fast_tanh(c_row[j]);
  }

  void gather_roots(const Batch &batch, int worker, float* out) {
    gather(out, h.get(), batch.roots, batch.num_roots, hidden, slices[worker]);
  }

  Params p;
  Team U, U_f, W;
  Floats h, c, words, below[2];
  std::vector<Floats> sums, forget;
};
