"""Reference: plain, slow twins of the compiled kernels, to be read and compared with."""
