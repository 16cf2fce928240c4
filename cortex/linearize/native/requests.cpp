#include "requests.h"

#include <stdexcept>
#include <string>

namespace cortex {

namespace {

IndexKind kind_of(const std::string& name) {
#define CORTEX_KIND(python, kind) \
  if (name == #python) return IndexKind::kind;
  CORTEX_INDEX_KINDS(CORTEX_KIND)
#undef CORTEX_KIND
  throw std::invalid_argument("no index array is of kind " + name);
}

}  // namespace

Request::Request(nb::handle array, const PlanSpec& plan)
    : name(interned(nb::cast<nb::str>(array.attr("name")).c_str())),
      kind(kind_of(nb::cast<nb::str>(array.attr("kind").attr("name")).c_str())) {
  for (std::size_t i = 0; i < plan.payloads.size(); ++i) {
    if (plan.payloads[i].name.equal(array.attr("payload"))) payload = i;
  }
  nb::object given = array.attr("number");
  if (!given.is_none()) number = nb::cast<std::int64_t>(given);
}

}  // namespace cortex
