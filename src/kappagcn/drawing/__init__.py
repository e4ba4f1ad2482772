"""Code shared by figures and reports: colours and shapes of classes, short names, centres of graphs, projections."""
