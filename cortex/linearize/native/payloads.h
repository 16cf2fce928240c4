// Payloads from Python objects and from arrays, checked against their dtype, shape and range.
#pragma once

#include "buffers.h"
#include "fast_payloads.h"

namespace cortex {

struct AttributeNames;

// Append what a node carries, the payload of that index; `value` is nullptr or None where it carries nothing.
void append_payload(const PayloadSpec& payload, PyObject* value, bool leaf, nb::handle key, const Location& location,
                    Rows& rows, std::size_t index);

// Append the only payload that words carry, `word`, and the defaults of the others.
void append_word(const PlanSpec& plan, PyObject* word, bool leaf, nb::handle key, const Location& location, Rows& rows);

// Refuse a batch in which no node carries a payload that each may lack: its name may be misspelled.
void check_carried(const PlanSpec& plan, const Rows& rows, const AttributeNames& names);

// Check and append one integer of an array.
void append_integer(const PayloadSpec& payload, std::int64_t value, bool too_large, bool required,
                    const Location& location, char* to);

// Refuse an array of another dtype or, from dimension `first` on, of another shape.
void check_array(const PayloadSpec& payload, const ArrayView& view, int first, const Location& location);

}  // namespace cortex
