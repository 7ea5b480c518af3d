// Table: growing and rows as one file, because most of the time goes into reading nanobind's headers.
#include "bindings/grow.cpp"
#include "bindings/rows.cpp"
