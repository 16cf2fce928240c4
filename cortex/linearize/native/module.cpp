// What Python sees of the linearizer.
#include "number.h"
#include "ptb.h"
#include "readers.h"

namespace cortex {

namespace {

// One plan, and what the caller said about structures; calls share nothing else.
class Engine {
 public:
  Engine(nb::object plan, nb::object vocab, nb::object children, std::int64_t limit)
      : plan_(plan), vocab_(vocab), words_(nb::none()), unknown_(nb::none()), children_(children), limit_(limit),
        left_(interned("left")), right_(interned("right")) {
    if (!vocab.is_none()) {
      words_ = vocab.attr("rows");
      unknown_ = vocab.attr("unknown");
    }
    by_position_ = nb::isinstance<nb::tuple>(children);
    if (by_position_) {
      for (nb::handle name : children) names_.push_back(interned(nb::cast<nb::str>(name).c_str()));
    } else {
      names_.push_back(interned(children.is_none() ? "children" : nb::cast<nb::str>(children).c_str()));
    }
  }

  nb::tuple linearize(nb::object data) const {
    Rows rows(plan_, limit_);
    Scratch scratch;
    Context context{plan_, vocab_, words_, unknown_, children_, names_, by_position_, left_, right_, scratch};
    if (!PyList_CheckExact(data.ptr())) {
      read_member(context, data, rows);
    } else {
      // The list may change while attributes are read, so its length is asked for each time.
      for (Py_ssize_t i = 0; i < PyList_GET_SIZE(data.ptr()); ++i) {
        nb::object item = nb::borrow(PyList_GET_ITEM(data.ptr(), i));
        read_member(context, item, rows);
      }
    }
    return number(plan_, rows);
  }

 private:
  PlanSpec plan_;
  nb::object vocab_, words_, unknown_, children_;
  std::int64_t limit_;
  std::vector<nb::object> names_;
  bool by_position_ = false;
  nb::object left_, right_;
};

}  // namespace

NB_MODULE(_native, module) {
  // Where daemon threads are in calls as the interpreter ends, what they use stays behind.
  nb::set_leak_warnings(false);
  module.doc() = "The native part of cortex.linearize.";
  nb::class_<Engine>(module, "Engine")
      .def(nb::init<nb::object, nb::object, nb::object, std::int64_t>(), nb::arg("plan"),
           nb::arg("vocab").none(), nb::arg("children").none(), nb::arg("limit"))
      .def("linearize", &Engine::linearize, nb::arg("data").none());
  module.def("parse_ptb", &parse_ptb, nb::arg("text"), nb::arg("origin"), nb::arg("vocab").none());
}

}  // namespace cortex
