// The growers of tables with codes of one byte.
#include "core/grow/growers.hpp"

namespace hedgerow {

template Fields grow_forest(const CodeColumns<std::uint8_t>&, const Given&, const Given&, const Given&, const Given*,
                            const WhichTrees&, Control&);

}  // namespace hedgerow
