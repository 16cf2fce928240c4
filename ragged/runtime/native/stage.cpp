#include "stage.h"

#include <algorithm>

namespace ragged {

int Job::run(std::int64_t worker, std::int64_t workers) const {
  Value own[kMostArguments + 2];
  std::copy_n(arguments, count, own);
  own[count] = Value::integer(worker);
  own[count + 1] = Value::integer(workers);
  Value result;
  return function->call(function, own, count + 2, &result);
}

}  // namespace ragged
