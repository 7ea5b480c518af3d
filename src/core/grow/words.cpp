// The growers of tables with codes of two bytes.
#include "core/grow/growers.hpp"

namespace hedgerow {

template Fields grow_forest(const CodeColumns<std::uint16_t>&, const Given&, const Given&, const Given&, const Given*,
                            const WhichTrees&, Control&);

}  // namespace hedgerow
