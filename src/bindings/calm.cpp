// Calm: what has no loop over rows, as one file, because most of the time goes into reading nanobind's headers.
#include "bindings/module.cpp"
#include "bindings/top.cpp"
