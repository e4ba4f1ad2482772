"""Reading and writing graphs: delimited files, npz, GraphML, PyG and NetworkX objects, matrices."""
