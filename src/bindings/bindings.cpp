// Bindings: all of them as one file, because most of the time goes into reading nanobind's headers.
#include "bindings/grow.cpp"
#include "bindings/module.cpp"
#include "bindings/read.cpp"
#include "bindings/rows.cpp"
#include "bindings/top.cpp"
