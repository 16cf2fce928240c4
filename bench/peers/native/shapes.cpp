// What bench/peers/shapes/onednn.py calls: oneDNN's matmul and convolution for sizes that change from call to call.
// A primitive is made for each new shape and kept, or one with run-time rows serves all. Arrays are the caller's.
#include <array>
#include <map>

#include "linear.hpp"

namespace {

using Dims = std::vector<int64_t>;

dnnl_memory_desc_t dense(const Dims &dims, const Dims &strides) {
  dnnl_memory_desc_t made;
  check(dnnl_memory_desc_create_with_strides(&made, static_cast<int>(dims.size()), dims.data(), dnnl_f32, strides.data()),
        "strides");
  return made;
}

dnnl_memory_desc_t any_form(const Dims &dims) {
  dnnl_memory_desc_t made;
  check(dnnl_memory_desc_create_with_tag(&made, static_cast<int>(dims.size()), dims.data(), dnnl_f32, dnnl_format_tag_any),
        "any form");
  return made;
}

// A primitive with its arguments; each call sets their data.
class Execution {
 public:
  Execution(dnnl_engine_t engine, dnnl_primitive_desc_t described) : engine_(engine) {
    check(dnnl_primitive_create(&primitive_, described), "primitive");
    dnnl_primitive_desc_destroy(described);
  }
  Execution(const Execution &) = delete;
  ~Execution() {
    for (auto &arg : args_) dnnl_memory_destroy(arg.memory);
    dnnl_primitive_destroy(primitive_);
  }
  void add(int kind, const_dnnl_memory_desc_t form, void* data = nullptr) {
    dnnl_memory_t memory;
    check(dnnl_memory_create(&memory, form, engine_, data), "memory");
    args_.push_back({kind, memory});
  }
  void set(int argument, const float* data) {
    check(dnnl_memory_set_data_handle(args_[argument].memory, const_cast<float*>(data)), "data");
  }
  void replace(int argument, const_dnnl_memory_desc_t form, const float* data) {
    dnnl_memory_destroy(args_[argument].memory);
    check(dnnl_memory_create(&args_[argument].memory, form, engine_, const_cast<float*>(data)), "memory");
  }
  void run(dnnl_stream_t stream) {
    check(dnnl_primitive_execute(primitive_, stream, static_cast<int>(args_.size()), args_.data()), "execution");
    check(dnnl_stream_wait(stream), "wait");
  }

 private:
  dnnl_engine_t engine_;
  dnnl_primitive_t primitive_ = nullptr;
  std::vector<dnnl_exec_arg_t> args_;
};

class Operator {
 public:
  Operator() {
    check(dnnl_engine_create(&engine_, dnnl_cpu, 0), "engine");
    check(dnnl_stream_create(&stream_, engine_, dnnl_stream_default_flags), "stream");
  }
  Operator(const Operator &) = delete;
  virtual ~Operator() {
    for (auto &pack : packs_) dnnl_memory_desc_destroy(pack.form);
    dnnl_stream_destroy(stream_);
    dnnl_engine_destroy(engine_);
  }
  virtual void run(const int64_t* sizes, const float* a, const float* b, float* y) = 0;

 protected:
  // Weights in the form that a primitive asks for, reordered once for each form.
  float* packed(const_dnnl_memory_desc_t form, dnnl_memory_desc_t plain, const float* weights) {
    for (auto &pack : packs_)
      if (dnnl_memory_desc_equal(pack.form, form)) return pack.data.get();
    Pack pack;
    check(dnnl_memory_desc_clone(&pack.form, form), "weights' form");
    float* data = pack.data.need((dnnl_memory_desc_get_size(form) + sizeof(float) - 1) / sizeof(float));
    dnnl_primitive_desc_t described;
    check(dnnl_reorder_primitive_desc_create(&described, plain, engine_, form, engine_, nullptr), "reorder");
    Execution reorder(engine_, described);
    reorder.add(DNNL_ARG_FROM, plain, const_cast<float*>(weights));
    reorder.add(DNNL_ARG_TO, form, data);
    reorder.run(stream_);
    packs_.push_back(std::move(pack));
    return data;
  }

  dnnl_engine_t engine_;
  dnnl_stream_t stream_;

 private:
  struct Pack {
    dnnl_memory_desc_t form;
    Floats data;
  };
  std::vector<Pack> packs_;
};

// y (rows, n) = a (rows, k) Wᵀ, W (n, k).
class Dense : public Operator {
 public:
  Dense(int64_t k, int64_t n, const float* weights, bool run_time) : k_(k), n_(n), weights_(weights), run_time_(run_time) {}

  void run(const int64_t* sizes, const float* a, const float*, float* y) override {
    const int64_t rows = sizes[0];
    auto &call = calls_[run_time_ ? 0 : rows];
    if (!call) call = make(rows);
    if (run_time_) {
      auto from = dense({rows, k_}, {k_, 1}), to = dense({rows, n_}, {n_, 1});
      call->replace(0, from, a);
      call->replace(1, to, y);
      dnnl_memory_desc_destroy(from);
      dnnl_memory_desc_destroy(to);
    } else {
      call->set(0, a);
      call->set(1, y);
    }
    call->run(stream_);
  }

 private:
  std::unique_ptr<Execution> make(int64_t rows) {
    const int64_t m = run_time_ ? DNNL_RUNTIME_DIM_VAL : rows;
    auto from = dense({m, k_}, {k_, 1}), to = dense({m, n_}, {n_, 1}), any = any_form({k_, n_});
    auto plain = dense({k_, n_}, {1, k_});
    dnnl_primitive_desc_t described;
    check(dnnl_matmul_primitive_desc_create(&described, engine_, from, any, nullptr, to, nullptr), "matmul");
    dnnl_memory_desc_t form;
    check(dnnl_memory_desc_clone(&form, dnnl_primitive_desc_query_md(described, dnnl_query_weights_md, 0)), "form");
    auto made = std::make_unique<Execution>(engine_, described);
    auto first = dense({rows, k_}, {k_, 1}), last = dense({rows, n_}, {n_, 1});
    made->add(DNNL_ARG_SRC, first);
    made->add(DNNL_ARG_DST, last);
    made->add(DNNL_ARG_WEIGHTS, form, packed(form, plain, weights_));
    for (auto each : {from, to, any, plain, form, first, last}) dnnl_memory_desc_destroy(each);
    return made;
  }

  int64_t k_, n_;
  const float* weights_;
  bool run_time_;
  std::map<int64_t, std::unique_ptr<Execution>> calls_;
};

// y (batch, m, n) = a (batch, m, k) b, where b is (batch, k, n), or (batch, n, k) if `transposed`.
class Batched : public Operator {
 public:
  explicit Batched(bool transposed) : transposed_(transposed) {}

  void run(const int64_t* sizes, const float* a, const float* b, float* y) override {
    std::array<int64_t, 4> key;
    std::copy(sizes, sizes + 4, key.begin());
    auto &call = calls_[key];
    if (!call) call = make(key);
    call->set(0, a);
    call->set(1, b);
    call->set(2, y);
    call->run(stream_);
  }

 private:
  std::unique_ptr<Execution> make(const std::array<int64_t, 4> &key) {
    const auto [batch, m, k, n] = key;
    auto from = dense({batch, m, k}, {m * k, k, 1}), to = dense({batch, m, n}, {m * n, n, 1});
    auto with = transposed_ ? dense({batch, k, n}, {n * k, 1, k}) : dense({batch, k, n}, {k * n, n, 1});
    dnnl_primitive_desc_t described;
    check(dnnl_matmul_primitive_desc_create(&described, engine_, from, with, nullptr, to, nullptr), "matmul");
    auto made = std::make_unique<Execution>(engine_, described);
    made->add(DNNL_ARG_SRC, from);
    made->add(DNNL_ARG_WEIGHTS, with);
    made->add(DNNL_ARG_DST, to);
    for (auto each : {from, to, with}) dnnl_memory_desc_destroy(each);
    return made;
  }

  bool transposed_;
  std::map<std::array<int64_t, 4>, std::unique_ptr<Execution>> calls_;
};

// y (batch, height, width, filters) = a (batch, height, width, channels) with weights (filters, channels, kernel,
// kernel), stride 1, padded so that height and width stay.
class Convolution : public Operator {
 public:
  Convolution(int64_t height, int64_t width, int64_t channels, int64_t filters, int64_t kernel, const float* weights)
      : height_(height), width_(width), channels_(channels), filters_(filters), kernel_(kernel), weights_(weights) {}

  void run(const int64_t* sizes, const float* a, const float*, float* y) override {
    auto &call = calls_[sizes[0]];
    if (!call) call = make(sizes[0]);
    call->set(0, a);
    call->set(1, y);
    call->run(stream_);
  }

 private:
  dnnl_memory_desc_t image(int64_t batch, int64_t channels) {
    return dense({batch, channels, height_, width_}, {height_ * width_ * channels, 1, width_ * channels, channels});
  }

  std::unique_ptr<Execution> make(int64_t batch) {
    const Dims taps = {filters_, channels_, kernel_, kernel_};
    auto from = image(batch, channels_), to = image(batch, filters_), any = any_form(taps);
    auto plain = dense(taps, {channels_ * kernel_ * kernel_, kernel_ * kernel_, kernel_, 1});
    const dnnl_dims_t strides = {1, 1}, dilations = {0, 0}, padding = {kernel_ / 2, kernel_ / 2};
    dnnl_primitive_desc_t described;
    check(dnnl_convolution_forward_primitive_desc_create(&described, engine_, dnnl_forward_inference, dnnl_convolution_auto,
                                                         from, any, nullptr, to, strides, dilations, padding, padding,
                                                         nullptr),
          "convolution");
    dnnl_memory_desc_t form;
    check(dnnl_memory_desc_clone(&form, dnnl_primitive_desc_query_md(described, dnnl_query_weights_md, 0)), "form");
    auto made = std::make_unique<Execution>(engine_, described);
    made->add(DNNL_ARG_SRC, from);
    made->add(DNNL_ARG_DST, to);
    made->add(DNNL_ARG_WEIGHTS, form, packed(form, plain, weights_));
    for (auto each : {from, to, any, plain, form}) dnnl_memory_desc_destroy(each);
    return made;
  }

  int64_t height_, width_, channels_, filters_, kernel_;
  const float* weights_;
  std::map<int64_t, std::unique_ptr<Execution>> calls_;
};

}  // namespace

extern "C" {

void* shapes_dense(int64_t k, int64_t n, const float* weights, int run_time) {
  return static_cast<Operator*>(new Dense(k, n, weights, run_time != 0));
}

void* shapes_batched(int transposed) { return static_cast<Operator*>(new Batched(transposed != 0)); }

void* shapes_convolution(int64_t height, int64_t width, int64_t channels, int64_t filters, int64_t kernel,
                         const float* weights) {
  return static_cast<Operator*>(new Convolution(height, width, channels, filters, kernel, weights));
}

// Sizes are rows of a dense product; batch, m, k and n of a batch of products; the batch of a convolution.
void shapes_run(void* made, const int64_t* sizes, const float* a, const float* b, float* y) {
  static_cast<Operator*>(made)->run(sizes, a, b, y);
}

void shapes_destroy(void* made) { delete static_cast<Operator*>(made); }
}
