// What Python sees of the linearizer.
#include "number.h"
#include "ptb.h"
#include "readers.h"
#include "slotted.h"

namespace cortex {

namespace {

// One plan, and what the caller said about structures; calls share nothing else.
class Engine {
 public:
  Engine(nb::object plan, nb::object requests, nb::object vocab, nb::object children, std::int64_t limit,
         nb::object result)
      : result_(std::move(result), {"plan", "num_structures", "_arrays", "payloads", "root_begin", "rows", "row_begin",
                                    "row_keys"}), given_(plan), plan_(plan), vocab_(vocab), words_(nb::none()),
        unknown_(nb::none()), children_(children), limit_(limit), names_(children, plan_) {
    for (nb::handle request : requests) requests_.emplace_back(request, plan_);
    if (!vocab.is_none()) {
      words_ = vocab.attr("rows");
      unknown_ = vocab.attr("unknown");
    }
  }

  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Before the first call: the attributes or keys under which nodes have the payloads, in the plan's order.
  void rename_payloads(nb::object names) {
    std::size_t i = names_.first_payload;
    for (nb::handle name : names) names_.all.at(i++) = interned(nb::cast<nb::str>(name).c_str());
  }

  // An instance of the result's class: the plan, and what `number` returns. Payloads of the names in `borrowed` stay where they
  // are, where that is possible.
  nb::object linearize(nb::object data, nb::object borrowed) const {
    Borrowed scratch(scratches_, plan_, limit_);
    Rows& rows = scratch.held->rows;
    rows.begin();
    Context context{plan_, vocab_, words_, unknown_, table_, children_, names_, *scratch.held};
    if (!PyList_CheckExact(data.ptr())) {
      read_member(context, data, rows);
    } else {
      // The list may change while attributes are read, so its length is asked for each time.
      for (Py_ssize_t i = 0; i < PyList_GET_SIZE(data.ptr()); ++i) {
        nb::object item = nb::borrow(PyList_GET_ITEM(data.ptr(), i));
        read_member(context, item, rows);
      }
    }
    check_carried(plan_, rows, names_);
    Numbered made = number(plan_, requests_, rows, Arrays(pools_), Borrowing{borrowed, nb::find(this)});
    return result_.make({given_, nb::int_(made.structures), made.arrays, made.payloads, made.root_begin, made.rows,
                         made.row_begin, made.row_keys});
  }

 private:
  struct Borrowed {
    Borrowed(Scratches& from, const PlanSpec& plan, std::int64_t limit) : from(from), held(from.take(plan, limit)) {}
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    ~Borrowed() { from.give(std::move(held)); }
    Scratches& from;
    std::unique_ptr<Scratch> held;
  };

  mutable Scratches scratches_;
  mutable Pools pools_;
  SlottedClass result_;
  nb::object given_;
  PlanSpec plan_;
  std::vector<Request> requests_;
  nb::object vocab_, words_, unknown_, children_;
  mutable LazyWords table_;
  std::int64_t limit_;
  AttributeNames names_;
};

}  // namespace

NB_MODULE(_native, module) {
  // Where daemon threads are in calls as the interpreter ends, what they use stays behind.
  nb::set_leak_warnings(false);
  load_numpy();
  module.doc() = "The native part of cortex.linearize.";
  nb::class_<Engine>(module, "Engine")
      .def(nb::init<nb::object, nb::object, nb::object, nb::object, std::int64_t, nb::object>(), nb::arg("plan"),
           nb::arg("requests"), nb::arg("vocab").none(), nb::arg("children").none(), nb::arg("limit"),
           nb::arg("result"))
      .def("rename_payloads", &Engine::rename_payloads, nb::arg("names"))
      .def("linearize", &Engine::linearize, nb::arg("data").none(), nb::arg("borrowed"));
  module.def("parse_ptb", &parse_ptb, nb::arg("text"), nb::arg("origin"), nb::arg("vocab").none());
}

}  // namespace cortex
