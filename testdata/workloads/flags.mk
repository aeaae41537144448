# Compiler flags of the workloads that need their own, by file name.
