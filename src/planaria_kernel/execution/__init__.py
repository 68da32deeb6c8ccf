"""Running a cell: compiling, names, output, errors, completion."""
