// Objects that hold their children in attributes, and dicts that hold them under keys.
#include "objects.h"

namespace cortex {

namespace {

class Attributes {
 public:
  explicit Attributes(const Context& context)
      : context_(context), names_(context.names), attribute_readers_(context.scratch.attribute_readers) {}

  // Whether it has the attributes that hold children. `items` may be anything yet. A dict of which the caller has named the
  // keys is a node without any of them too: a leaf.
  bool find(nb::handle object, Children& children, std::vector<nb::object>& pushed) const {
    if (PyDict_Check(object.ptr()) && !has_any_key(object)) return !names_.or_pair;
    if (names_.by_position) return push(object, 0, names_.first_payload, children, pushed);
    children.items = get(object, 0, children.once);
    if (!children.items.is_valid()) return names_.or_pair && push(object, 1, 3, children, pushed);
    children.once &= Py_REFCNT(children.items.ptr()) == 2;  // by the object and by us
    if (children.items.is_none()) children.items.reset();
    return true;
  }

  Children children(nb::handle object, const Location& location, std::vector<nb::object>& pushed) const {
    const AttributeReader* reader = reader_of(object);
    if (reader != nullptr && !names_.by_position) {  // as most nodes are
      Attribute found = reader->read(0, object.ptr());
      if (found.value != nullptr && PyTuple_CheckExact(found.value)) {
        if (PyTuple_GET_SIZE(found.value) == 0) return {};
        bool once = found.own && Py_REFCNT(found.value) == 1;
        return {nb::borrow(found.value), once};
      }
      if (found.value == nullptr && names_.or_pair) {
        Attribute left = reader->read(1, object.ptr()), right = reader->read(2, object.ptr());
        if (left.value == Py_None && right.value == Py_None) return {};
        if (left.value != nullptr && right.value != nullptr) {
          pushed.push_back(nb::borrow(left.value));
          pushed.push_back(nb::borrow(right.value));
          return {{}, left.own && right.own};
        }
      }
    }
    return other_children(object, location, pushed);
  }

  nb::object step(bool from_items, Py_ssize_t position) const {
    if (from_items) return nb::steal(PyUnicode_FromFormat(".%U[%zd]", names_.all[0].ptr(), position));
    std::size_t first = names_.by_position ? 0 : 1;
    return nb::steal(PyUnicode_FromFormat(".%U", names_.all[first + static_cast<std::size_t>(position)].ptr()));
  }

  void append(nb::handle object, bool leaf, const Location& location, Rows& rows) const {
    rows.reserve_row();
    std::size_t i = 0;
    for (const PayloadSpec& payload : context_.plan.payloads) {
      const AttributeReader* reader = reader_of(object);
      PyObject* value = reader == nullptr ? nullptr : reader->read(names_.first_payload + i, object.ptr()).value;
      bool done = reader != nullptr && append_plain(payload, value, leaf, rows.columns[i]);
      if (!done) [[unlikely]] append_other(i, value, object, leaf, location, rows);
      ++i;
    }
  }

 private:
  [[gnu::noinline]] Children other_children(nb::handle object, const Location& location,
                                            std::vector<nb::object>& pushed) const {
    Children children;
    // Below a root, where children are expected, a dict without any is a leaf.
    if (!find(object, children, pushed) && !PyDict_Check(object.ptr())) fault("not_a_node", location.place(), object, context_.children);
    nb::object& items = children.items;
    if (items.is_valid() && !PyTuple_Check(items.ptr()) && !PyList_Check(items.ptr())) {
      items = read_all(object, items, location);
      children.once = false;
    }
    return children;
  }

  // Whether a dict has a key of children.
  bool has_any_key(nb::handle dict) const {
    for (std::size_t i = 0; i < names_.first_payload; ++i) {
      if (look_up(dict, i).is_valid()) return true;
    }
    return false;
  }

  // Append the i-th payload; `value` is nullptr where it is not known yet.
  [[gnu::noinline]] void append_other(std::size_t i, PyObject* value, nb::handle object, bool leaf, const Location& location,
                                      Rows& rows) const {
    nb::object held = reader_of(object) != nullptr ? nb::borrow(value) : look_up(object, names_.first_payload + i);
    forget();
    append_payload(context_.plan.payloads[i], held.ptr(), leaf, object, location, rows, i);
  }

  // How the object is read, which is known as long as no Python code has run and no other object was read since.
  const AttributeReader* reader_of(nb::handle object) const {
    if (object.ptr() != read_last_) {
      ways_ = PyDict_Check(object.ptr()) ? nullptr : attribute_readers_.plain(object.ptr(), names_.all);
      read_last_ = object.ptr();
    }
    return ways_;
  }
  void forget() const { read_last_ = nullptr; }
  // Before code runs that is not ours.
  void run_code() const {
    forget();
    context_.scratch.rows.stop_borrowing();
  }

  nb::object look_up(nb::handle object, std::size_t i) const {
    run_code();
    if (!PyDict_Check(object.ptr())) return cortex::find(object, names_.all[i]);
    nb::object value = nb::borrow(PyDict_GetItemWithError(object.ptr(), names_.all[i].ptr()));
    if (!value.is_valid() && PyErr_Occurred()) throw nb::python_error();
    return value;
  }

  // The i-th attribute, and whether nothing but the object holds it; invalid where there is none.
  nb::object get(nb::handle object, std::size_t i, bool& own) const {
    own = false;
    const AttributeReader* reader = reader_of(object);
    if (reader == nullptr) return look_up(object, i);
    Attribute found = reader->read(i, object.ptr());
    own = found.own;
    return nb::borrow(found.value);
  }

  // Push the attributes from first to last, none of them where one is missing or all are None.
  bool push(nb::handle object, std::size_t first, std::size_t last, Children& children,
            std::vector<nb::object>& pushed) const {
    std::size_t before = pushed.size();
    bool some = false, found = true;
    children.once = true;
    for (std::size_t i = first; found && i < last; ++i) {
      bool own;
      pushed.push_back(get(object, i, own));
      if (!pushed.back().is_valid() && PyDict_Check(object.ptr())) pushed.back() = nb::none();
      children.once &= own;
      found = pushed.back().is_valid();
      some |= !pushed.back().is_none();
    }
    if (!found || !some) pushed.resize(before);
    return found;
  }

  nb::object read_all(nb::handle object, nb::handle items, const Location& location) const {
    run_code();
    nb::object iterator = nb::steal(PyObject_GetIter(items.ptr()));
    if (!iterator.is_valid()) {
      if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw nb::python_error();
      PyErr_Clear();
      fault("children_not_iterable", location.place(), object, names_.all[0], items);
    }
    nb::object list = nb::steal(PySequence_List(iterator.ptr()));
    if (!list.is_valid()) throw nb::python_error();
    return list;
  }

  const Context& context_;
  const AttributeNames& names_;
  AttributeReaders& attribute_readers_;
  mutable PyObject* read_last_ = nullptr;  // only compared
  mutable const AttributeReader* ways_ = nullptr;
};

}  // namespace

bool has_children(const Context& context, nb::handle item) {
  Children children;
  std::vector<nb::object> pushed;
  return Attributes(context).find(item, children, pushed);
}

void read_object(const Context& context, nb::handle root, Rows& rows) {
  Attributes source(context);
  ObjectWalk(context, source, rows).read(root);
}

}  // namespace cortex
