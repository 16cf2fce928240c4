// Files of bracketed trees as cortex.Node objects.
#pragma once

#include "common.h"

namespace cortex {

nb::list parse_ptb(nb::str text, nb::str origin, nb::object vocab);

}  // namespace cortex
