// Products with packed weights: one worker's columns of a linear layer, by oneDNN's matmul.
#pragma once

#include <dnnl.h>
#include <immintrin.h>
#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <vector>

inline void check(dnnl_status_t status, const char* what) {
  if (status == dnnl_success) return;
  std::fprintf(stderr, "oneDNN: %s: status %d\n", what, static_cast<int>(status));
  std::abort();
}

// Floats on a cache line of their own, which grow and are never given back: what they held is lost then.
class Floats {
 public:
  float* need(int64_t count) {
    if (count > count_) {
      count_ = count + count / 2;
      data_.reset(static_cast<float*>(std::aligned_alloc(64, (count_ * sizeof(float) + 63) / 64 * 64)));
    }
    return data_.get();
  }
  float* get() const { return data_.get(); }

 private:
  struct Free {
    void operator()(float* data) const { std::free(data); }
  };
  std::unique_ptr<float, Free> data_;
  int64_t count_ = 0;
};

// The columns [begin, end) of each state that one worker computes: whole vectors of 16.
struct Slice {
  int64_t begin, end;
  int64_t width() const { return end - begin; }
};

inline Slice slice_of(int64_t hidden, int worker, int workers) {
  const int64_t blocks = (hidden + 15) / 16;
  auto at = [&](int64_t number) { return std::min(hidden, blocks * number / workers * 16); };
  return {at(worker), at(worker + 1)};
}

// x rounded to bfloat16, to the nearest, ties to even: the upper half of a float.
inline void round_to(uint16_t* to, const float* from, int64_t count) {
  int64_t i = 0;
#ifdef __AVX512BF16__
  for (; i + 16 <= count; i += 16)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), (__m256i)_mm512_cvtneps_pbh(_mm512_loadu_ps(from + i)));
#endif
  for (; i < count; ++i) {
    uint32_t bits;
    std::memcpy(&bits, from + i, sizeof bits);
    to[i] = static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
}

// y = x Wᵀ (+ bias, then relu) for those rows of W, (gates x hidden, in), that belong to a slice of the hidden units: of
// each gate the same ones, gate after gate. Weights are packed once for each form that oneDNN asks for, which has
// been one for all numbers of rows; a primitive is made once for each number of rows, for one thread. Where `rounded`,
// x and W are of bfloat16: W is packed so, and each worker rounds the rows of x that it reads.
class Linear {
 public:
  inline static bool rounded = false;  // what those made from now on are

  // Whether oneDNN multiplies bfloat16 on this processor.
  static bool can_round() {
    dnnl_engine_t engine;
    check(dnnl_engine_create(&engine, dnnl_cpu, 0), "engine");
    dnnl_memory_desc_t factor = matrix(16, 16, 16, 1, dnnl_bf16), sum = matrix(16, 16, 16, 1);
    dnnl_primitive_desc_t described;
    const bool can =
        dnnl_matmul_primitive_desc_create(&described, engine, factor, factor, nullptr, sum, nullptr) == dnnl_success;
    if (can) dnnl_primitive_desc_destroy(described);
    for (auto made : {factor, sum}) dnnl_memory_desc_destroy(made);
    dnnl_engine_destroy(engine);
    return can;
  }

  Linear(dnnl_engine_t engine, const float* weights, int64_t gates, int64_t hidden, int64_t in, Slice slice,
         int64_t dst_stride, const float* relu_bias = nullptr)
      : engine_(engine), in_(in), out_(gates * slice.width()), dst_stride_(dst_stride), rows_(out_ * in) {
    for (int64_t gate = 0; gate < gates; ++gate)
      std::memcpy(rows_.data() + gate * slice.width() * in, weights + (gate * hidden + slice.begin) * in,
                  sizeof(float) * slice.width() * in);
    if (relu_bias) bias_.assign(relu_bias + slice.begin, relu_bias + slice.end);
    check(dnnl_stream_create(&stream_, engine, dnnl_stream_default_flags), "stream");
  }
  Linear(const Linear &) = delete;
  ~Linear() {
    for (auto &[rows, call] : calls_) {
      dnnl_primitive_destroy(call.primitive);
      for (auto &arg : call.args) dnnl_memory_destroy(arg.memory);
    }
    for (auto &pack : packs_) dnnl_memory_desc_destroy(pack.form);
    dnnl_stream_destroy(stream_);
  }

  // Makes what `operator()` needs for so many rows; not within a parallel region.
  void prepare(int64_t rows) {
    if (rows == 0 || out_ == 0 || calls_.count(rows)) return;
    const int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    make(rows);
    omp_set_num_threads(threads);
  }

  void operator()(int64_t rows, const float* x, float* y) {
    if (rows == 0 || out_ == 0) return;
    auto &call = calls_.at(rows);
    void* source = const_cast<float*>(x);
    if (type_ == dnnl_bf16) {
      source = halves_.get();
      round_to(static_cast<uint16_t*>(source), x, rows * in_);
    }
    check(dnnl_memory_set_data_handle(call.args[0].memory, source), "source");
    check(dnnl_memory_set_data_handle(call.args[1].memory, y), "destination");
    const int count = static_cast<int>(call.args.size());
    check(dnnl_primitive_execute(call.primitive, stream_, count, call.args.data()), "matmul");
  }

 private:
  struct Call {
    dnnl_primitive_t primitive = nullptr;
    std::vector<dnnl_exec_arg_t> args;
  };
  struct Pack {
    dnnl_memory_desc_t form;
    Floats data;
  };

  static dnnl_memory_desc_t matrix(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride,
                                   dnnl_data_type_t type = dnnl_f32) {
    dnnl_memory_desc_t made;
    const dnnl_dims_t dims = {rows, columns}, strides = {row_stride, column_stride};
    check(dnnl_memory_desc_create_with_strides(&made, 2, dims, type, strides), "strides");
    return made;
  }

  dnnl_memory_t memory(const_dnnl_memory_desc_t form, void* data) {
    dnnl_memory_t made;
    check(dnnl_memory_create(&made, form, engine_, data), "memory");
    return made;
  }

  void make(int64_t rows) {
    dnnl_memory_desc_t src = matrix(rows, in_, in_, 1, type_), dst = matrix(rows, out_, dst_stride_, 1), any;
    dnnl_memory_desc_t bias = nullptr;
    const dnnl_dims_t dims = {in_, out_};
    check(dnnl_memory_desc_create_with_tag(&any, 2, dims, type_, dnnl_format_tag_any), "weights");
    if (type_ == dnnl_bf16) halves_.need((rows * in_ + 1) / 2);
    if (!bias_.empty()) bias = matrix(1, out_, out_, 1);
    dnnl_primitive_desc_t described;
    dnnl_primitive_attr_t attributes = bias_.empty() ? nullptr : relu();
    check(dnnl_matmul_primitive_desc_create(&described, engine_, src, any, bias, dst, attributes), "matmul's form");
    Call call;
    check(dnnl_primitive_create(&call.primitive, described), "primitive");
    auto form = dnnl_primitive_desc_query_md(described, dnnl_query_weights_md, 0);
    call.args = {{DNNL_ARG_SRC, memory(src, nullptr)},
                 {DNNL_ARG_DST, memory(dst, nullptr)},
                 {DNNL_ARG_WEIGHTS, memory(form, packed(form))}};
    if (bias) call.args.push_back({DNNL_ARG_BIAS, memory(bias, bias_.data())});
    calls_.emplace(rows, std::move(call));
    dnnl_primitive_desc_destroy(described);
    if (attributes) dnnl_primitive_attr_destroy(attributes);
    for (auto made : {src, dst, any, bias})
      if (made) dnnl_memory_desc_destroy(made);
  }

  static dnnl_primitive_attr_t relu() {
    dnnl_primitive_attr_t attributes;
    dnnl_post_ops_t after;
    check(dnnl_primitive_attr_create(&attributes), "attributes");
    check(dnnl_post_ops_create(&after), "operations after it");
    check(dnnl_post_ops_append_eltwise(after, dnnl_eltwise_relu, 0, 0), "relu");
    check(dnnl_primitive_attr_set_post_ops(attributes, after), "operations after it");
    dnnl_post_ops_destroy(after);
    return attributes;
  }

  float* packed(const_dnnl_memory_desc_t form) {
    for (auto &pack : packs_)
      if (dnnl_memory_desc_equal(pack.form, form)) return pack.data.get();
    Pack pack;
    check(dnnl_memory_desc_clone(&pack.form, form), "weights' form");
    float* data = pack.data.need((dnnl_memory_desc_get_size(form) + sizeof(float) - 1) / sizeof(float));
    dnnl_memory_desc_t given = matrix(in_, out_, 1, in_);
    dnnl_primitive_desc_t described;
    dnnl_primitive_t reorder;
    check(dnnl_reorder_primitive_desc_create(&described, given, engine_, form, engine_, nullptr), "reorder's form");
    check(dnnl_primitive_create(&reorder, described), "reorder");
    dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, memory(given, rows_.data())}, {DNNL_ARG_TO, memory(form, data)}};
    check(dnnl_primitive_execute(reorder, stream_, 2, args), "reorder");
    check(dnnl_stream_wait(stream_), "reorder");
    for (auto &arg : args) dnnl_memory_destroy(arg.memory);
    dnnl_primitive_destroy(reorder);
    dnnl_primitive_desc_destroy(described);
    dnnl_memory_desc_destroy(given);
    packs_.push_back(std::move(pack));
    return data;
  }

  dnnl_engine_t engine_;
  dnnl_stream_t stream_;
  int64_t in_, out_, dst_stride_;
  const dnnl_data_type_t type_ = rounded ? dnnl_bf16 : dnnl_f32;
  std::vector<float> rows_, bias_;
  Floats halves_;
  std::vector<Pack> packs_;
  std::unordered_map<int64_t, Call> calls_;
};
