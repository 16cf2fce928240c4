// What Python calls: one maker for each cell, then `run`. All arrays are the caller's, which keeps them.
#include "dags.hpp"
#include "gated.hpp"
#include "plain.hpp"
#include "sequences.hpp"
#include "trees.hpp"

extern "C" {

Model* tree_fc(int workers, int64_t hidden, int64_t vocab, const float* W, const float* b, const float* emb) {
  return new TreeFC(workers, hidden, vocab, W, b, emb);
}

Model* gated(int workers, int64_t hidden, const GatedCell::Params* params) {
  return new GatedCell(workers, hidden, *params);
}

Model* mv_rnn(int workers, int64_t hidden, int64_t vocab, const float* W, const float* b, const float* W_M,
              const float* emb, const float* emb_M) {
  return new MVRNN(workers, hidden, vocab, W, b, W_M, emb, emb_M);
}

Model* tree_gru(int workers, int64_t hidden, int64_t vocab, const float* U, const float* b, const float* U_g,
                const float* b_g, const float* table) {
  return new TreeGRU(workers, hidden, vocab, U, b, U_g, b_g, table);
}

Model* ternary_lstm(int workers, int64_t hidden, const float* W, const float* b, const float* leaf_h,
                    const float* leaf_c) {
  return new TernaryLSTM(workers, hidden, W, b, leaf_h, leaf_c);
}

Model* dag_rnn(int workers, int64_t hidden, const float* U, const float* b) {
  return new DagRNN(workers, hidden, U, b);
}

Model* gated_dag(int workers, int64_t hidden, const float* U, const float* b, const float* U_e, const float* b_e) {
  return new GatedDag(workers, hidden, U, b, U_e, b_e);
}

Model* lstm(int workers, int64_t hidden, const float* W, const float* b, const float* U) {
  return new LSTM(workers, hidden, W, b, U);
}

Model* gru(int workers, int64_t hidden, const float* W, const float* b, const float* U, const float* U_g) {
  return new GRU(workers, hidden, W, b, U, U_g);
}

Model* gru_reset_after(int workers, int64_t hidden, const float* W, const float* b, const float* U, const float* d) {
  return new GRUResetAfter(workers, hidden, W, b, U, d);
}

// Whether models made from now on round the factors of their products to bfloat16.
void round_products(int rounded) { Linear::rounded = rounded; }

int can_round_products() { return Linear::can_round(); }

void run(Model* model, const Batch* batch, float* const* out) { model->run(*batch, out); }

void destroy(Model* model) { delete model; }
}
