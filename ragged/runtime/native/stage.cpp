#include "stage.h"

namespace ragged {

int Job::run(std::int64_t worker, std::int64_t workers) {
  const std::size_t count = arguments.size();
  arguments[count - 2] = Value::integer(worker);
  arguments[count - 1] = Value::integer(workers);
  Value result;
  return function->call(function, arguments.data(), static_cast<std::int32_t>(count), &result);
}

}  // namespace ragged
