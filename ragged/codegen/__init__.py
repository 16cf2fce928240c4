"""Code generation: from a program to TIR to machine code. Only `load_tvm` imports TVM.

`ragged.codegen.build.compile_program` is the way in. `entry` says how stages are called, and `target` what code is
generated for; neither needs TVM to be imported.
"""
