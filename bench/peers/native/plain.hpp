// Cells without gates: a layer over two children, and vectors with matrices.
#pragma once

#include "levels.hpp"

// h = relu(W [h_l; h_r] + b). Leaves stand in the table, which the rows begin with.
class TreeFC : public Model {
 public:
  TreeFC(int workers, int64_t hidden, int64_t vocab, const float* W, const float* b, const float* emb)
      : Model(workers, hidden), vocab(vocab), emb(emb), W(team(W, 1, 2 * hidden, b)) {}

 protected:
  void prepare(const Batch &batch) override {
    if (batch.rows() > rows) {
      rows = batch.rows() + batch.rows() / 2;
      std::memcpy(h.need(rows * hidden), emb, sizeof(float) * vocab * hidden);
    }
    for (auto &buffer : below) buffer.need(widest(batch) * 2 * hidden);
    upward(batch, [&](const Level &level) { prepare_team(W, level.count); });
  }

  void work(const Batch &batch, int worker, float* const* out) override {
    const Slice slice = slices[worker];
    int turn = 0;
    upward(batch, [&](const Level &level) {
      const float* pairs = h.get() + level.children[0] * hidden;
      if (!consecutive(level)) {
        float* gathered = below[turn ^= 1].get();
        gather(gathered, h.get(), level.children, 2 * level.count, hidden, slice);
        pairs = gathered;
      }
#pragma omp barrier
      (*W[worker])(level.count, pairs, h.get() + level.begin * hidden + slice.begin);
    });
    gather(out[0], h.get(), batch.roots, batch.num_roots, hidden, slice);
  }

 private:
  // Whether the children stand one after another, as pairs already.
  static bool consecutive(const Level &level) {
    for (int64_t i = 1; i < 2 * level.count; ++i)
      if (level.children[i] != level.children[0] + i) return false;
    return true;
  }

  int64_t vocab, rows = 0;
  const float* emb;
  Floats h, below[2];
  Team W;
};

// v = tanh(W [M_r v_l; M_l v_r] + b), M = W_M [M_l; M_r]. Matrices are kept transposed, so that all of a level are one
// product with packed weights: [M_lᵀ M_rᵀ] W_Mᵀ, whose rows the workers share.
class MVRNN : public Model {
 public:
  MVRNN(int workers, int64_t hidden, int64_t vocab, const float* W, const float* b, const float* W_M, const float* emb,
        const float* emb_M)
      : Model(workers, hidden), vocab(vocab), b(b), emb(emb), emb_M(emb_M), W(team(W, 1, 2 * hidden)), sums(workers) {
    for (int worker = 0; worker < workers; ++worker)
      matrices.push_back(std::make_unique<Linear>(engine, W_M, 1, hidden, 2 * hidden, Slice{0, hidden}, hidden));
  }

 protected:
  void prepare(const Batch &batch) override {
    const int64_t most = widest(batch), square = hidden * hidden;
    if (batch.rows() > rows) {
      rows = batch.rows() + batch.rows() / 2;
      std::memcpy(v.need(rows * hidden), emb, sizeof(float) * vocab * hidden);
      M.need(rows * square);
      for (int64_t word = 0; word < vocab; ++word) transpose(M.get() + word * square, emb_M + word * square);
    }
    seen.need(most * 2 * hidden);
    both.need(most * 2 * square);
    for (int worker = 0; worker < workers; ++worker) sums[worker].need(most * slices[worker].width());
    upward(batch, [&](const Level &level) {
      prepare_team(W, level.count);
      for (int worker = 0; worker < workers; ++worker)
        matrices[worker]->prepare(share(level.count * hidden, worker).width());
    });
  }

  void work(const Batch &batch, int worker, float* const* out) override {
    const Slice slice = slices[worker];
    upward(batch, [&](const Level &level) {
      const bool by_node = level.count >= workers;
      const Slice nodes = by_node ? share(level.count, worker) : Slice{0, level.count};
      for (int64_t i = nodes.begin; i < nodes.end; ++i) look(level, i, by_node ? Slice{0, hidden} : slice);
      multiply(level, worker);
#pragma omp barrier
      (*W[worker])(level.count, seen.get(), sums[worker].get());
      for (int64_t i = 0; i < level.count; ++i) {
        const float* sum = sums[worker].get() + i * slice.width(), *bias = b + slice.begin;
        float* to = v.get() + (level.begin + i) * hidden + slice.begin;
#pragma omp simd
        for (int64_t j = 0; j < slice.width(); ++j) to[j] = fast_tanh(sum[j] + bias[j]);
      }
#pragma omp barrier
    });
    gather(out[0], v.get(), batch.roots, batch.num_roots, hidden, slice);
    const Slice roots = share(batch.num_roots, worker);
    for (int64_t i = roots.begin; i < roots.end; ++i)
      transpose(out[1] + i * hidden * hidden, M.get() + batch.roots[i] * hidden * hidden);
  }

 private:
  Slice share(int64_t count, int worker) const { return {count * worker / workers, count * (worker + 1) / workers}; }

  void transpose(float* to, const float* from) const {
    constexpr int64_t block = 16;
    for (int64_t i = 0; i < hidden; i += block)
      for (int64_t j = 0; j < hidden; ++j)
        for (int64_t k = i; k < std::min(hidden, i + block); ++k) to[j * hidden + k] = from[k * hidden + j];
  }

  // What each child's vector is through the other child's matrix: those columns, for node i of a level.
  void look(const Level &level, int64_t i, Slice columns) {
    for (int side = 0; side < 2; ++side) {
      const float* vector = v.get() + level.children[2 * i + side] * hidden;
      const float* matrix = M.get() + level.children[2 * i + 1 - side] * hidden * hidden;
      float* sum = seen.get() + (2 * i + side) * hidden;
      std::memset(sum + columns.begin, 0, sizeof(float) * columns.width());
      int64_t row = 0;
      for (; row + 4 <= hidden; row += 4) {
        const float* m = matrix + row * hidden;
        const float a = vector[row], b = vector[row + 1], c = vector[row + 2], d = vector[row + 3];
#pragma omp simd
        for (int64_t j = columns.begin; j < columns.end; ++j)
          sum[j] += (a * m[j] + b * m[hidden + j]) + (c * m[2 * hidden + j] + d * m[3 * hidden + j]);
      }
      for (; row < hidden; ++row)
#pragma omp simd
        for (int64_t j = columns.begin; j < columns.end; ++j) sum[j] += vector[row] * matrix[row * hidden + j];
    }
  }

  // The new matrices' rows that are this worker's.
  void multiply(const Level &level, int worker) {
    const Slice rows = share(level.count * hidden, worker);
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      const int64_t* child = level.children + row / hidden * 2;
      for (int side = 0; side < 2; ++side)
        std::memcpy(both.get() + (2 * row + side) * hidden, M.get() + (child[side] * hidden + row % hidden) * hidden,
                    sizeof(float) * hidden);
    }
    (*matrices[worker])(rows.width(), both.get() + rows.begin * 2 * hidden,
                        M.get() + (level.begin * hidden + rows.begin) * hidden);
  }

  int64_t vocab, rows = 0;
  const float* b, *emb, *emb_M;
  Floats v, M, seen, both;
  Team W, matrices;
  std::vector<Floats> sums;
};
