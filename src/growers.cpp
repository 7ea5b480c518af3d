// The growers that bindings.cpp does not compile; see core/growers.hpp.
#include "core/grow/growers.hpp"

namespace hedgerow {

HEDGEROW_TARGETS(HEDGEROW_GROW_WORDS)
HEDGEROW_RARER_TARGETS(HEDGEROW_GROW_BYTES)

}  // namespace hedgerow
